-- statement: delete_schedule
-- Delete the schedule with this name and version, and return its name.
DELETE
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in::VARCHAR AND duerow_schedule.version = :was::BIGINT
RETURNING duerow_schedule.name

-- statement: insert_schedule
-- Add a schedule, and return its name; return nothing if the name exists.
INSERT INTO duerow_schedule (name, definition, next_at, last_at, version)
VALUES (:name_in::VARCHAR, CAST(:definition_in::VARCHAR AS JSON), :next_in::TIMESTAMP WITH TIME ZONE,
    :last_in::TIMESTAMP WITH TIME ZONE, :version_in::BIGINT)
ON CONFLICT (name) DO NOTHING
RETURNING duerow_schedule.name

-- statement: next_tick
-- Read the next tick of all schedules, and the time.
SELECT (SELECT min(duerow_schedule.next_at) AS min_1
FROM duerow_schedule
WHERE duerow_schedule.next_at IS NOT NULL) AS anon_1, statement_timestamp() AS statement_timestamp_1

-- statement: schedules
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, CAST(duerow_schedule.definition AS TEXT) AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
ORDER BY duerow_schedule.name

-- statement: schedules-due
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, CAST(duerow_schedule.definition AS TEXT) AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.next_at <= :until::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_schedule.next_at
LIMIT :limit_in::INTEGER

-- statement: schedules-name
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, CAST(duerow_schedule.definition AS TEXT) AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in::VARCHAR

-- statement: update_schedule
-- Change the schedule with this name and version, and return its name.
UPDATE duerow_schedule
SET definition=CAST(:definition_in::VARCHAR AS JSON), next_at=:next_in::TIMESTAMP WITH TIME ZONE,
    last_at=:last_in::TIMESTAMP WITH TIME ZONE, version=:version_in::BIGINT
WHERE duerow_schedule.name = :name_in::VARCHAR AND duerow_schedule.version = :was::BIGINT
RETURNING duerow_schedule.name
