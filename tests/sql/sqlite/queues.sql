-- statement: consumers
-- Read the consumers that were there lately.
SELECT duerow_consumer.name, duerow_consumer.about, duerow_consumer.seen_at
FROM duerow_consumer
ORDER BY duerow_consumer.name

-- statement: draining
-- Read which of the given queues take no new messages.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT given_rows.value AS queue
FROM json_each(:given) AS given_rows) AS given) AND duerow_queue.draining = 1

-- statement: forget_consumers
-- Forget the consumers not heard of for a day.
DELETE
FROM duerow_consumer
WHERE duerow_consumer.seen_at + :span < :now

-- statement: hold
-- Write nothing, but as the first step of a transaction: SQLite then lets nobody else begin to write.
DELETE
FROM duerow_message
WHERE 1 = 0

-- statement: in_first
-- Ask whether the first of several databases that a connection sees has the table; None if it sees
-- one.
PRAGMA main.table_info("duerow_message")

-- statement: note_consumer
-- Note that a consumer is there now.
INSERT INTO duerow_consumer (name, about, seen_at)
VALUES (:name_in, :about_in, :now)
ON CONFLICT (name) DO UPDATE
SET about = excluded.about, seen_at = excluded.seen_at

-- statement: past_queue_after
-- Read the name of the first queue after a name of which something else than messages is kept, by
-- indexes.
SELECT (SELECT min(duerow_history.queue) AS min_1
FROM duerow_history
WHERE duerow_history.queue > :queue_in) AS anon_1, (SELECT min(duerow_remembered.queue) AS min_2
FROM duerow_remembered
WHERE duerow_remembered.queue > :queue_in) AS anon_2, (SELECT min(duerow_counter.queue) AS min_3
FROM duerow_counter
WHERE duerow_counter.queue > :queue_in) AS anon_3

-- statement: put_settings-definition
-- Note some of what is said of a queue: whether it is `paused` or `draining`, its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, 0, 0, :definition_in)
ON CONFLICT (name) DO UPDATE
SET definition = excluded.definition

-- statement: put_settings-draining-paused
-- Note some of what is said of a queue: whether it is `paused` or `draining`, its `definition`.
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
-- Read what is said of all queues, or of one by its `name`.
SELECT duerow_queue.name, duerow_queue.definition AS definition, duerow_queue.paused, duerow_queue.draining
FROM duerow_queue
ORDER BY duerow_queue.name

-- statement: settings-name
-- Read what is said of all queues, or of one by its `name`.
SELECT duerow_queue.name, duerow_queue.definition AS definition, duerow_queue.paused, duerow_queue.draining
FROM duerow_queue
WHERE duerow_queue.name = :queue_in

-- statement: whereabouts
-- Ask which database this is, told from all others on whatever servers.
PRAGMA database_list
