-- Take away the schedule that has this name and version, and return its name.
DELETE
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
RETURNING duerow_schedule.name
