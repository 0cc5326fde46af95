-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.definition AS definition, duerow_pipeline.version
FROM duerow_pipeline
ORDER BY duerow_pipeline.name
