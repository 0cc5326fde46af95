-- statement: delete_pipeline
-- Delete the pipeline with this name and version, and return its name.
DELETE
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in::VARCHAR AND duerow_pipeline.version = :was::BIGINT
RETURNING duerow_pipeline.name

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in::VARCHAR, CAST(:definition_in::VARCHAR AS JSON), :version_in::BIGINT)
ON CONFLICT (name) DO NOTHING
RETURNING duerow_pipeline.name

-- statement: pipelines
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, CAST(duerow_pipeline.definition AS TEXT) AS definition, duerow_pipeline.version
FROM duerow_pipeline
ORDER BY duerow_pipeline.name

-- statement: pipelines-name
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, CAST(duerow_pipeline.definition AS TEXT) AS definition, duerow_pipeline.version
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in::VARCHAR
ORDER BY duerow_pipeline.name

-- statement: update_pipeline
-- Change the pipeline with this name and version, and return its name.
UPDATE duerow_pipeline
SET definition=CAST(:definition_in::VARCHAR AS JSON), version=:version_in::BIGINT
WHERE duerow_pipeline.name = :name_in::VARCHAR AND duerow_pipeline.version = :was::BIGINT
RETURNING duerow_pipeline.name
