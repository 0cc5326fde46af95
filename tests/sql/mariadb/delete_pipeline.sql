-- Take away the pipeline that has this name and version, and return its name.
SELECT duerow_pipeline.name, duerow_pipeline.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in AND duerow_pipeline.version = :was
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_pipeline
FROM (SELECT found_rows.`name`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS found_rows) AS found STRAIGHT_JOIN duerow_pipeline ON
    duerow_pipeline.name = found.name
