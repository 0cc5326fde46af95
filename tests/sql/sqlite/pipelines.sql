-- statement: delete_pipeline
-- Delete the pipeline with this name and version, and return its name.
DELETE
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
RETURNING name

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in, :definition_in, :version_in)
ON CONFLICT (name) DO NOTHING
RETURNING name

-- statement: pipelines
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.definition AS definition, duerow_pipeline.version
FROM duerow_pipeline
ORDER BY duerow_pipeline.name

-- statement: pipelines-name
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.definition AS definition, duerow_pipeline.version
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in
ORDER BY duerow_pipeline.name

-- statement: update_pipeline
-- Change the pipeline with this name and version, and return its name.
UPDATE duerow_pipeline
SET definition=:definition_in, version=:version_in
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
RETURNING name
