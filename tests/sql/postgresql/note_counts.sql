-- Keep what a process counted, in place of what it said of the same queues and minutes before.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved, waiting, handling) SELECT given.queue,
    given.minute, given.process, given.done, given.failed, given.dead, given.moved, CAST(given.waiting AS JSON) AS
    waiting, CAST(given.handling AS JSON) AS handling
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_minute::VARCHAR AS TEXT) AS
    TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_process::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_done::VARCHAR
    AS TEXT) AS BIGINT[]), CAST(CAST(:given_failed::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_dead::VARCHAR AS
    TEXT) AS BIGINT[]), CAST(CAST(:given_moved::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_waiting::VARCHAR AS
    TEXT) AS TEXT[]), CAST(CAST(:given_handling::VARCHAR AS TEXT) AS TEXT[])) AS given(queue, minute, process, done,
    failed, dead, moved, waiting, handling)
WHERE 1 = 1
ON CONFLICT (queue, minute, process) DO UPDATE
SET done = excluded.done, failed = excluded.failed, dead = excluded.dead, moved = excluded.moved, waiting =
    excluded.waiting, handling = excluded.handling
