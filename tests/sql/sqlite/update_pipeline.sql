-- Change the pipeline that has this name and version, and return its name.
UPDATE duerow_pipeline
SET definition=:definition_in, version=:version_in
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
RETURNING name
