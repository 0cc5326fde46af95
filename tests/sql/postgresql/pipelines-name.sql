-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, CAST(duerow_pipeline.definition AS TEXT) AS definition, duerow_pipeline.version
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in::VARCHAR
ORDER BY duerow_pipeline.name
