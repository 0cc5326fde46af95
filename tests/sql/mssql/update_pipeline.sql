-- Change the pipeline that has this name and version, and return its name.
UPDATE duerow_pipeline
SET [definition] = :definition_in, version = CAST(:version_in AS BIGINT)
OUTPUT inserted.name
FROM duerow_pipeline WITH (ROWLOCK, UPDLOCK, FORCESEEK)
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version =
    CAST(:was AS BIGINT)
