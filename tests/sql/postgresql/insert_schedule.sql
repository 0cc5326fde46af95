-- Add a schedule, and return its name; nothing if there is one of that name.
INSERT INTO duerow_schedule (name, definition, next_at, last_at, version)
VALUES (:name_in::VARCHAR, CAST(:definition_in::VARCHAR AS JSON), :next_in::TIMESTAMP WITH TIME ZONE,
    :last_in::TIMESTAMP WITH TIME ZONE, :version_in::BIGINT)
ON CONFLICT (name) DO NOTHING
RETURNING duerow_schedule.name
