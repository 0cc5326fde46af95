-- Add a pipeline, and return its name; nothing if there is one of that name.
SELECT duerow_pipeline.name
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in
FOR UPDATE; INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in, :definition_in, :version_in)
