-- Add a pipeline, and return its name; nothing if there is one of that name.
INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in, :definition_in, :version_in)
ON CONFLICT (name) DO NOTHING
RETURNING name
