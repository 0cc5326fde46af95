-- Change the pipeline that has this name and version, and return its name.
SELECT duerow_pipeline.name, duerow_pipeline.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_pipeline FORCE INDEX (PRIMARY)
SET duerow_pipeline.definition = :definition_in, duerow_pipeline.version = :version_in
WHERE duerow_pipeline.name IN :found
