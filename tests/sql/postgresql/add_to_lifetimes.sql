-- Add numbers to those of their queues' lifetimes.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved) SELECT given.queue, given.minute,
    given.process, given.done, given.failed, given.dead, given.moved
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_minute::VARCHAR AS TEXT) AS
    TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_process::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_done::VARCHAR
    AS TEXT) AS BIGINT[]), CAST(CAST(:given_failed::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_dead::VARCHAR AS
    TEXT) AS BIGINT[]), CAST(CAST(:given_moved::VARCHAR AS TEXT) AS BIGINT[])) AS given(queue, minute, process, done,
    failed, dead, moved)
WHERE 1 = 1
ORDER BY given.queue
ON CONFLICT (queue, minute, process) DO UPDATE
SET done = (duerow_counter.done + excluded.done), failed = (duerow_counter.failed + excluded.failed), dead =
    (duerow_counter.dead + excluded.dead), moved = (duerow_counter.moved + excluded.moved)
