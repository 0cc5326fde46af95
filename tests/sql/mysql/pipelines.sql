-- statement: delete_pipeline
-- Delete the pipeline with this name and version, and return its name.
SELECT duerow_pipeline.name, duerow_pipeline.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_pipeline
FROM (SELECT found_rows.`name`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_pipeline ON duerow_pipeline.name = found.name

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
SELECT duerow_pipeline.name
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in
FOR UPDATE; INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in, :definition_in, :version_in)

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
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ duerow_pipeline FORCE INDEX
    (PRIMARY)
SET duerow_pipeline.definition = :definition_in, duerow_pipeline.version = :version_in
WHERE duerow_pipeline.name IN :found
