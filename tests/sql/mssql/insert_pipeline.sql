-- Add a pipeline, and return its name; nothing if there is one of that name.
INSERT INTO duerow_pipeline (name, [definition], version)
OUTPUT inserted.name SELECT fresh.name, fresh.[definition], fresh.version
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, :definition_in AS [definition],
    CAST(:version_in AS BIGINT) AS version) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_pipeline AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)
