-- Add a pipeline, and return its name; nothing if there is one of that name.
INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in::VARCHAR, CAST(:definition_in::VARCHAR AS JSON), :version_in::BIGINT)
ON CONFLICT (name) DO NOTHING
RETURNING duerow_pipeline.name
