-- Take remembered keys away; return the ids of those who held them.
DELETE
FROM duerow_remembered
WHERE (duerow_remembered.queue, duerow_remembered.key) IN (SELECT given.queue, given.key
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key))
RETURNING duerow_remembered.id
