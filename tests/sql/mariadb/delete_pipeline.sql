-- Take away the pipeline that has this name and version, and return its name.
DELETE
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
RETURNING duerow_pipeline.name
