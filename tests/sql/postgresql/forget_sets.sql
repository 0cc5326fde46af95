-- Take the rows of sets away.
DELETE
FROM duerow_set
WHERE (duerow_set.queue, duerow_set.correlation) IN (SELECT given.queue, given.correlation
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_correlation::VARCHAR AS TEXT) AS
    TEXT[])) AS given(queue, correlation))
