-- statement: delete_schedule
-- Delete the schedule with this name and version, and return its name.
DELETE
FROM duerow_schedule
OUTPUT deleted.name
WHERE duerow_schedule.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_schedule.version =
    CAST(:was AS BIGINT)

-- statement: insert_schedule
-- Add a schedule, and return its name; return nothing if the name exists.
INSERT INTO duerow_schedule (name, [definition], next_at, last_at, version)
OUTPUT inserted.name SELECT fresh.name, fresh.[definition], fresh.next_at, fresh.last_at, fresh.version
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, :definition_in AS [definition],
    CAST(:next_in AS DATETIME2(6)) AS next_at, CAST(:last_in AS DATETIME2(6)) AS last_at, CAST(:version_in AS BIGINT)
    AS version) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_schedule AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)

-- statement: next_tick
-- Read the next tick of all schedules, and the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT (SELECT min(duerow_schedule.next_at) AS min_1
FROM duerow_schedule
WHERE duerow_schedule.next_at IS NOT NULL) AS anon_1, @now AS anon_2

-- statement: schedules
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, duerow_schedule.[definition] AS [definition], duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
ORDER BY duerow_schedule.name

-- statement: schedules-due
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT TOP (CAST(:limit_in AS INT)) duerow_schedule.name, duerow_schedule.[definition] AS [definition],
    duerow_schedule.next_at, duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.next_at <= CAST(:until AS DATETIME2(6))
ORDER BY duerow_schedule.next_at

-- statement: schedules-name
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, duerow_schedule.[definition] AS [definition], duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000))

-- statement: update_schedule
-- Change the schedule with this name and version, and return its name.
UPDATE duerow_schedule
SET [definition] = :definition_in, next_at = CAST(:next_in AS DATETIME2(6)), last_at = CAST(:last_in AS DATETIME2(6)),
    version = CAST(:version_in AS BIGINT)
OUTPUT inserted.name
FROM duerow_schedule WITH (ROWLOCK, UPDLOCK, FORCESEEK)
WHERE duerow_schedule.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_schedule.version =
    CAST(:was AS BIGINT)
