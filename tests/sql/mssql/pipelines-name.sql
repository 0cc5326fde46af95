-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.[definition] AS [definition], duerow_pipeline.version
FROM duerow_pipeline
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000))
ORDER BY duerow_pipeline.name
