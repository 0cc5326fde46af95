-- Change the schedule that has this name and version, and return its name.
UPDATE duerow_schedule
SET definition=CAST(:definition_in::VARCHAR AS JSON), next_at=:next_in::TIMESTAMP WITH TIME ZONE,
    last_at=:last_in::TIMESTAMP WITH TIME ZONE, version=:version_in::BIGINT
WHERE duerow_schedule.name = :name_in::VARCHAR AND duerow_schedule.version = :was::BIGINT
RETURNING duerow_schedule.name
