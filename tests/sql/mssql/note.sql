-- Note a name, and return it; nothing if it is noted already, also by who commits at this moment.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_noted (name, noted_at)
OUTPUT inserted.name SELECT fresh.name, fresh.noted_at
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, @now AS noted_at) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_noted AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)
