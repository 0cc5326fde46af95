-- statement: consumers
-- Read the consumers that were seen recently.
SELECT duerow_consumer.name, duerow_consumer.about, duerow_consumer.seen_at
FROM duerow_consumer
ORDER BY duerow_consumer.name

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

-- statement: draining
-- Read which of the given queues are draining.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT given_rows.`queue`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given) AND
    duerow_queue.draining = 1

-- statement: forget_consumers
-- Delete the consumers that were last seen longer ago than the bound `span`.
DELETE
FROM duerow_consumer
WHERE timestampadd(MICROSECOND, :span, duerow_consumer.seen_at) < UTC_TIMESTAMP(6)

-- statement: hold
-- Write nothing, as the first step of a transaction, so that SQLite lets no other connection start
-- writing.
DELETE
FROM duerow_message
WHERE 1 = 0

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
SELECT duerow_pipeline.name
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in
FOR UPDATE; INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in, :definition_in, :version_in)

-- statement: note_consumer
-- Record that a consumer is alive now.
INSERT INTO duerow_consumer (name, about, seen_at)
VALUES (:name_in, :about_in, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE about = :about_in, seen_at = UTC_TIMESTAMP(6)

-- statement: past_queues_after
-- Like `queues_after`, for queues that have history, remembered keys or counters.
SELECT (SELECT duerow_history.queue
FROM duerow_history
WHERE duerow_history.queue > :queue_in
ORDER BY duerow_history.queue
LIMIT 1) AS name, 1 AS place UNION ALL SELECT (SELECT duerow_remembered.queue
FROM duerow_remembered
WHERE duerow_remembered.queue > :queue_in
ORDER BY duerow_remembered.queue
LIMIT 1) AS name, 1 AS place UNION ALL SELECT (SELECT duerow_counter.queue
FROM duerow_counter
WHERE duerow_counter.queue > :queue_in
ORDER BY duerow_counter.queue
LIMIT 1) AS name, 1 AS place

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

-- statement: put_settings-definition
-- Change settings of a queue: whether it is `paused` or `draining`, and its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, false, false, :definition_in) ON DUPLICATE KEY UPDATE definition = :definition_in

-- statement: put_settings-draining-paused
-- Change settings of a queue: whether it is `paused` or `draining`, and its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, :paused_in, :draining_in, NULL) ON DUPLICATE KEY UPDATE paused = :paused_in, draining =
    :draining_in

-- statement: queues_after
-- Read the names of the first queues after a name, with their places; each kind of row has its own
-- index.
SELECT (SELECT duerow_message.queue
FROM duerow_message
WHERE duerow_message.queue > :queue_in
ORDER BY duerow_message.queue
LIMIT 1) AS name, 1 AS place

-- statement: settings
-- Read the settings of all queues, or of one by `name`.
SELECT duerow_queue.name, duerow_queue.definition AS definition, duerow_queue.paused, duerow_queue.draining
FROM duerow_queue
ORDER BY duerow_queue.name

-- statement: settings-name
-- Read the settings of all queues, or of one by `name`.
SELECT duerow_queue.name, duerow_queue.definition AS definition, duerow_queue.paused, duerow_queue.draining
FROM duerow_queue
WHERE duerow_queue.name = :queue_in

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

-- statement: whereabouts
-- Read the identity of this database.
SELECT database() AS asked_0, database() AS asked_1, COALESCE((SELECT NULLIF(variable_value, '')
FROM performance_schema.global_variables
WHERE variable_name = 'group_replication_group_name'), @@server_uuid) AS asked_2
