-- Lock the rows of sets, and add those that are missing; return them, and whether each was complete
-- before.
INSERT INTO duerow_set (queue, correlation, parts) SELECT given.queue, given.correlation, 0
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_correlation::VARCHAR AS TEXT) AS
    TEXT[])) AS given(queue, correlation)
WHERE 1 = 1
ORDER BY given.queue, given.correlation
ON CONFLICT (queue, correlation) DO UPDATE
SET parts = duerow_set.parts
RETURNING duerow_set.queue, duerow_set.correlation, duerow_set.set_id, duerow_set.parts, duerow_set.closed_until >
    statement_timestamp() AS anon_1
