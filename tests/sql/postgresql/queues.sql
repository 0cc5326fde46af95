-- statement: announce
-- Notify all listeners of a name.
SELECT pg_notify('duerow_wake', :told_in::VARCHAR) AS pg_notify_1

-- statement: consumers
-- Read the consumers that were seen recently.
SELECT duerow_consumer.name, CAST(duerow_consumer.about AS TEXT) AS about, duerow_consumer.seen_at
FROM duerow_consumer
ORDER BY duerow_consumer.name

-- statement: delete_pipeline
-- Delete the pipeline with this name and version, and return its name.
DELETE
FROM duerow_pipeline
WHERE duerow_pipeline.name = :name_in::VARCHAR AND duerow_pipeline.version = :was::BIGINT
RETURNING duerow_pipeline.name

-- statement: draining
-- Read which of the given queues are draining.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue) AS given)
    AND duerow_queue.draining

-- statement: forget_consumers
-- Delete the consumers that were last seen longer ago than the bound `span`.
DELETE
FROM duerow_consumer
WHERE (duerow_consumer.seen_at + (:span::BIGINT * INTERVAL '1 microsecond')) < statement_timestamp()

-- statement: hold
-- Write nothing, as the first step of a transaction, so that SQLite lets no other connection start
-- writing.
DELETE
FROM duerow_message
WHERE 1 = 0

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
INSERT INTO duerow_pipeline (name, definition, version)
VALUES (:name_in::VARCHAR, CAST(:definition_in::VARCHAR AS JSON), :version_in::BIGINT)
ON CONFLICT (name) DO NOTHING
RETURNING duerow_pipeline.name

-- statement: note_consumer
-- Record that a consumer is alive now.
INSERT INTO duerow_consumer (name, about, seen_at)
VALUES (:name_in::VARCHAR, CAST(:about_in::VARCHAR AS JSON), statement_timestamp())
ON CONFLICT (name) DO UPDATE
SET about = excluded.about, seen_at = excluded.seen_at

-- statement: note_waiting
-- Record that a consumer of the given queues sleeps; renew an existing record only when it would end
-- soon.
INSERT INTO duerow_waiting (queue, until) SELECT given.queue, statement_timestamp() + (:span::BIGINT * INTERVAL '1
    microsecond') AS anon_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue) AS given
WHERE NOT (EXISTS (SELECT 1
FROM duerow_waiting
WHERE duerow_waiting.queue = given.queue AND duerow_waiting.until >= (statement_timestamp() + (:half::BIGINT *
    INTERVAL '1 microsecond'))))
ORDER BY given.queue
ON CONFLICT (queue) DO UPDATE
SET until = excluded.until
WHERE duerow_waiting.until < (statement_timestamp() + (:half::BIGINT * INTERVAL '1 microsecond'))

-- statement: past_queues_after
-- Like `queues_after`, for queues that have history, remembered keys or counters.
WITH RECURSIVE anon_1(name, place) AS (SELECT (SELECT min(duerow_history.queue) AS min_1
FROM duerow_history
WHERE duerow_history.queue > :queue_in::VARCHAR) AS name, 1 AS place UNION ALL SELECT (SELECT
    min(duerow_history.queue) AS min_2
FROM duerow_history
WHERE duerow_history.queue > anon_1.name) AS anon_2, anon_1.place + 1 AS anon_3
FROM anon_1
WHERE anon_1.name IS NOT NULL AND anon_1.place < 500), anon_4(name, place) AS (SELECT (SELECT
    min(duerow_remembered.queue) AS min_3
FROM duerow_remembered
WHERE duerow_remembered.queue > :queue_in::VARCHAR) AS name, 1 AS place UNION ALL SELECT (SELECT
    min(duerow_remembered.queue) AS min_4
FROM duerow_remembered
WHERE duerow_remembered.queue > anon_4.name) AS anon_5, anon_4.place + 1 AS anon_6
FROM anon_4
WHERE anon_4.name IS NOT NULL AND anon_4.place < 500), anon_7(name, place) AS (SELECT (SELECT
    min(duerow_counter.queue) AS min_5
FROM duerow_counter
WHERE duerow_counter.queue > :queue_in::VARCHAR) AS name, 1 AS place UNION ALL SELECT (SELECT
    min(duerow_counter.queue) AS min_6
FROM duerow_counter
WHERE duerow_counter.queue > anon_7.name) AS anon_8, anon_7.place + 1 AS anon_9
FROM anon_7
WHERE anon_7.name IS NOT NULL AND anon_7.place < 500) SELECT anon_1.name, anon_1.place
FROM anon_1 UNION ALL SELECT anon_4.name, anon_4.place
FROM anon_4 UNION ALL SELECT anon_7.name, anon_7.place
FROM anon_7

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

-- statement: put_settings-definition
-- Change settings of a queue: whether it is `paused` or `draining`, and its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in::VARCHAR, false, false, CAST(:definition_in::VARCHAR AS JSON))
ON CONFLICT (name) DO UPDATE
SET definition = excluded.definition

-- statement: put_settings-draining-paused
-- Change settings of a queue: whether it is `paused` or `draining`, and its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in::VARCHAR, :paused_in, :draining_in, NULL)
ON CONFLICT (name) DO UPDATE
SET paused = excluded.paused, draining = excluded.draining

-- statement: queues_after
-- Read the names of the first queues after a name, with their places; each kind of row has its own
-- index.
WITH RECURSIVE anon_1(name, place) AS (SELECT (SELECT min(duerow_message.queue) AS min_1
FROM duerow_message
WHERE duerow_message.queue > :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL) AS name, 1 AS place UNION ALL SELECT (SELECT min(duerow_message.queue) AS min_2
FROM duerow_message
WHERE duerow_message.queue > anon_1.name AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NULL) AS
    anon_2, anon_1.place + 1 AS anon_3
FROM anon_1
WHERE anon_1.name IS NOT NULL AND anon_1.place < 500), anon_4(name, place) AS (SELECT (SELECT
    min(duerow_message.queue) AS min_3
FROM duerow_message
WHERE duerow_message.queue > :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error')) AS name, 1 AS place UNION ALL SELECT (SELECT min(duerow_message.queue) AS min_4
FROM duerow_message
WHERE duerow_message.queue > anon_4.name AND duerow_message."group" IS NOT NULL AND duerow_message.status IN ('new',
    'error')) AS anon_5, anon_4.place + 1 AS anon_6
FROM anon_4
WHERE anon_4.name IS NOT NULL AND anon_4.place < 500), anon_7(name, place) AS (SELECT (SELECT
    min(duerow_message.queue) AS min_5
FROM duerow_message
WHERE duerow_message.queue > :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS
    NULL) AS name, 1 AS place UNION ALL SELECT (SELECT min(duerow_message.queue) AS min_6
FROM duerow_message
WHERE duerow_message.queue > anon_7.name AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL) AS
    anon_8, anon_7.place + 1 AS anon_9
FROM anon_7
WHERE anon_7.name IS NOT NULL AND anon_7.place < 500) SELECT anon_1.name, anon_1.place
FROM anon_1 UNION ALL SELECT anon_4.name, anon_4.place
FROM anon_4 UNION ALL SELECT anon_7.name, anon_7.place
FROM anon_7

-- statement: settings
-- Read the settings of all queues, or of one by `name`.
SELECT duerow_queue.name, CAST(duerow_queue.definition AS TEXT) AS definition, duerow_queue.paused,
    duerow_queue.draining
FROM duerow_queue
ORDER BY duerow_queue.name

-- statement: settings-name
-- Read the settings of all queues, or of one by `name`.
SELECT duerow_queue.name, CAST(duerow_queue.definition AS TEXT) AS definition, duerow_queue.paused,
    duerow_queue.draining
FROM duerow_queue
WHERE duerow_queue.name = :queue_in::VARCHAR

-- statement: update_pipeline
-- Change the pipeline with this name and version, and return its name.
UPDATE duerow_pipeline
SET definition=CAST(:definition_in::VARCHAR AS JSON), version=:version_in::BIGINT
WHERE duerow_pipeline.name = :name_in::VARCHAR AND duerow_pipeline.version = :was::BIGINT
RETURNING duerow_pipeline.name

-- statement: wake
-- Wake the sleeping consumers of the given queues.
SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue IN (SELECT given.queue
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue) AS given)
    AND duerow_waiting.until > statement_timestamp()

-- statement: whereabouts
-- Read the identity of this database.
SELECT CAST(pg_catalog.current_database() AS TEXT) AS asked_0, CAST(extract(epoch
FROM pg_catalog.pg_postmaster_start_time()) AS TEXT) AS asked_1, CAST((SELECT oid
FROM pg_catalog.pg_database
WHERE datname = pg_catalog.current_database()) AS TEXT) AS asked_2, CAST(CAST(to_regclass(:param_1::VARCHAR) AS OID)
    AS TEXT) AS asked_3
