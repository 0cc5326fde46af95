-- Note the messages of sets, the numbers of their parts, and for how long it is known that one was
-- complete.
UPDATE duerow_set
SET set_id=given.set_id, parts=given.parts, closed_until=(statement_timestamp() + (given.remember * INTERVAL '1
    microsecond'))
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_correlation::VARCHAR AS TEXT) AS
    TEXT[]), CAST(CAST(:given_set_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_parts::VARCHAR AS TEXT) AS
    INTEGER[]), CAST(CAST(:given_remember::VARCHAR AS TEXT) AS BIGINT[])) AS given(queue, correlation, set_id, parts,
    remember)
WHERE duerow_set.queue = given.queue AND duerow_set.correlation = given.correlation
