-- statement: consumers
-- Read the consumers that were seen recently.
SELECT duerow_consumer.name, duerow_consumer.about, duerow_consumer.seen_at
FROM duerow_consumer
ORDER BY duerow_consumer.name

-- statement: draining
-- Read which of the given queues are draining.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT given_rows.value AS queue
FROM json_each(:given) AS given_rows) AS given) AND duerow_queue.draining = 1

-- statement: forget_consumers
-- Delete the consumers not seen for a day.
DELETE
FROM duerow_consumer
WHERE duerow_consumer.seen_at + :span < :now

-- statement: hold
-- Write nothing, as the first step of a transaction, so that SQLite lets nobody else start writing.
DELETE
FROM duerow_message
WHERE 1 = 0

-- statement: in_first
-- Ask whether the first of several databases that a connection sees has the table; None if it sees
-- one.
PRAGMA main.table_info("duerow_message")

-- statement: note_consumer
-- Record that a consumer is alive now.
INSERT INTO duerow_consumer (name, about, seen_at)
VALUES (:name_in, :about_in, :now)
ON CONFLICT (name) DO UPDATE
SET about = excluded.about, seen_at = excluded.seen_at

-- statement: past_queue_after
-- Read the name of the first queue after a name that has anything besides messages, by indexes.
SELECT (SELECT min(duerow_history.queue) AS min_1
FROM duerow_history
WHERE duerow_history.queue > :queue_in) AS anon_1, (SELECT min(duerow_remembered.queue) AS min_2
FROM duerow_remembered
WHERE duerow_remembered.queue > :queue_in) AS anon_2, (SELECT min(duerow_counter.queue) AS min_3
FROM duerow_counter
WHERE duerow_counter.queue > :queue_in) AS anon_3

-- statement: put_settings-definition
-- Change settings of a queue: whether it is `paused` or `draining`, its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, 0, 0, :definition_in)
ON CONFLICT (name) DO UPDATE
SET definition = excluded.definition

-- statement: put_settings-draining-paused
-- Change settings of a queue: whether it is `paused` or `draining`, its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, :paused_in, :draining_in, NULL)
ON CONFLICT (name) DO UPDATE
SET paused = excluded.paused, draining = excluded.draining

-- statement: queue_after
-- Read the name of the first queue after a name: the smallest of each kind of rows, by its own index.
SELECT (SELECT min(duerow_message.queue) AS min_1
FROM duerow_message
WHERE duerow_message.queue > :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NULL) AS
    anon_1, (SELECT min(duerow_message.queue) AS min_2
FROM duerow_message
WHERE duerow_message.queue > :queue_in AND duerow_message."group" IS NOT NULL AND duerow_message.status IN ('new',
    'error')) AS anon_2, (SELECT min(duerow_message.queue) AS min_3
FROM duerow_message
WHERE duerow_message.queue > :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL) AS
    anon_3

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

-- statement: whereabouts
-- Read the identity of this database.
PRAGMA database_list
