-- statement: delete_pipeline
-- Delete the pipeline with this name and version, and return its name.
DELETE
FROM duerow_pipeline
OUTPUT deleted.name
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version =
    CAST(:was AS BIGINT)

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
INSERT INTO duerow_pipeline (name, [definition], version)
OUTPUT inserted.name SELECT fresh.name, fresh.[definition], fresh.version
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, :definition_in AS [definition],
    CAST(:version_in AS BIGINT) AS version) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_pipeline AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)

-- statement: pipelines
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.[definition] AS [definition], duerow_pipeline.version
FROM duerow_pipeline
ORDER BY duerow_pipeline.name

-- statement: pipelines-name
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.[definition] AS [definition], duerow_pipeline.version
FROM duerow_pipeline
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000))
ORDER BY duerow_pipeline.name

-- statement: update_pipeline
-- Change the pipeline with this name and version, and return its name.
UPDATE duerow_pipeline
SET [definition] = :definition_in, version = CAST(:version_in AS BIGINT)
OUTPUT inserted.name
FROM duerow_pipeline WITH (ROWLOCK, UPDLOCK, FORCESEEK)
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version =
    CAST(:was AS BIGINT)
