-- statement: add_to_lifetimes
-- Add numbers to the lifetimes of their queues.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved) SELECT given.queue, given.minute,
    given.process, given.done, given.failed, given.dead, given.moved
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_minute::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH
    TIME ZONE[])) AS minute, unnest(CAST((SELECT CAST(CAST(:given_process::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS
    process, unnest(CAST((SELECT CAST(CAST(:given_done::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS done,
    unnest(CAST((SELECT CAST(CAST(:given_failed::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS failed,
    unnest(CAST((SELECT CAST(CAST(:given_dead::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS dead,
    unnest(CAST((SELECT CAST(CAST(:given_moved::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS moved) AS given
WHERE 1 = 1
ORDER BY given.queue
ON CONFLICT (queue, minute, process) DO UPDATE
SET done = (duerow_counter.done + excluded.done), failed = (duerow_counter.failed + excluded.failed), dead =
    (duerow_counter.dead + excluded.dead), moved = (duerow_counter.moved + excluded.moved)

-- statement: counters
-- Read the counters of a queue, and the time.
SELECT duerow_counter.minute, duerow_counter.done, duerow_counter.failed, duerow_counter.dead, duerow_counter.moved,
    CAST(duerow_counter.waiting AS TEXT) AS waiting, CAST(duerow_counter.handling AS TEXT) AS handling,
    duerow_counter.process, statement_timestamp() AS statement_timestamp_1
FROM duerow_counter
WHERE duerow_counter.queue = :queue_in::VARCHAR

-- statement: forget_counts
-- Delete some old rows, except lifetimes; return their queues and numbers.
DELETE
FROM duerow_counter
WHERE (duerow_counter.queue, duerow_counter.minute, duerow_counter.process) IN (SELECT "old".queue, "old".minute,
    "old".process
FROM duerow_counter AS "old"
WHERE "old".minute < (statement_timestamp() + (:ago::BIGINT * INTERVAL '1 microsecond')) AND "old".process != ''
ORDER BY "old".minute
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)
RETURNING duerow_counter.queue, duerow_counter.done, duerow_counter.failed, duerow_counter.dead, duerow_counter.moved

-- statement: note_counts
-- Write the counts of a process, replacing earlier ones for the same queues and minutes.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved, waiting, handling) SELECT given.queue,
    given.minute, given.process, given.done, given.failed, given.dead, given.moved, CAST(given.waiting AS JSON) AS
    waiting, CAST(given.handling AS JSON) AS handling
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_minute::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH
    TIME ZONE[])) AS minute, unnest(CAST((SELECT CAST(CAST(:given_process::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS
    process, unnest(CAST((SELECT CAST(CAST(:given_done::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS done,
    unnest(CAST((SELECT CAST(CAST(:given_failed::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS failed,
    unnest(CAST((SELECT CAST(CAST(:given_dead::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS dead,
    unnest(CAST((SELECT CAST(CAST(:given_moved::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS moved,
    unnest(CAST((SELECT CAST(CAST(:given_waiting::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS waiting,
    unnest(CAST((SELECT CAST(CAST(:given_handling::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS handling) AS given
WHERE 1 = 1
ON CONFLICT (queue, minute, process) DO UPDATE
SET done = excluded.done, failed = excluded.failed, dead = excluded.dead, moved = excluded.moved, waiting =
    excluded.waiting, handling = excluded.handling
