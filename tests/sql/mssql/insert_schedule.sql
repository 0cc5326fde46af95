-- Add a schedule, and return its name; nothing if there is one of that name.
INSERT INTO duerow_schedule (name, [definition], next_at, last_at, version)
OUTPUT inserted.name SELECT fresh.name, fresh.[definition], fresh.next_at, fresh.last_at, fresh.version
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, :definition_in AS [definition],
    CAST(:next_in AS DATETIME2(6)) AS next_at, CAST(:last_in AS DATETIME2(6)) AS last_at, CAST(:version_in AS BIGINT)
    AS version) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_schedule AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)
