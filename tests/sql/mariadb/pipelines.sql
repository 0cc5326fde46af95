-- statement: delete_pipeline
-- Delete the pipeline with this name and version, and return its name.
DELETE
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
RETURNING duerow_pipeline.name

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
SELECT duerow_pipeline.name
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in
FOR UPDATE; INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in, :definition_in, :version_in)
RETURNING duerow_pipeline.name

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
SELECT duerow_pipeline.name, duerow_pipeline.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_pipeline FORCE INDEX (PRIMARY)
SET duerow_pipeline.definition = :definition_in, duerow_pipeline.version = :version_in
WHERE duerow_pipeline.name IN :found
