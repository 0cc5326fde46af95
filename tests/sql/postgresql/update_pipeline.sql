-- Change the pipeline that has this name and version, and return its name.
UPDATE duerow_pipeline
SET definition=CAST(:definition_in::VARCHAR AS JSON), version=:version_in::BIGINT
WHERE duerow_pipeline.name = :name_in::VARCHAR AND duerow_pipeline.version = :was::BIGINT
RETURNING duerow_pipeline.name
