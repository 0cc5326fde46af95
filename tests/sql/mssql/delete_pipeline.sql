-- Take away the pipeline that has this name and version, and return its name.
DELETE duerow_pipeline
OUTPUT deleted.name
FROM (SELECT duerow_pipeline.name AS name
FROM duerow_pipeline WITH (ROWLOCK, UPDLOCK)
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version =
    CAST(:was AS BIGINT)) AS picked
JOIN duerow_pipeline WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_pipeline.name = picked.name AND duerow_pipeline.name
    = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version = CAST(:was AS BIGINT)
