-- Take away the pipeline that has this name and version, and return its name.
DELETE
FROM duerow_pipeline
OUTPUT deleted.name
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version =
    CAST(:was AS BIGINT)
