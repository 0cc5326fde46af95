-- Change the schedule that has this name and version, and return its name.
UPDATE duerow_schedule
SET definition=:definition_in, next_at=:next_in, last_at=:last_in, version=:version_in
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
RETURNING name
