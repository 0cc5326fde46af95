-- Note the messages of sets, the numbers of their parts, and for how long it is known that one was
-- complete.
INSERT INTO duerow_set (queue, correlation, set_id, parts, closed_until) SELECT given.queue, given.correlation,
    given.set_id, given.parts, statement_timestamp() + (given.remember * INTERVAL '1 microsecond') AS anon_1
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_correlation::VARCHAR AS TEXT) AS
    TEXT[]), CAST(CAST(:given_set_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_parts::VARCHAR AS TEXT) AS
    INTEGER[]), CAST(CAST(:given_remember::VARCHAR AS TEXT) AS BIGINT[])) AS given(queue, correlation, set_id, parts,
    remember)
WHERE 1 = 1
ON CONFLICT (queue, correlation) DO UPDATE
SET set_id = excluded.set_id, parts = excluded.parts, closed_until = excluded.closed_until
