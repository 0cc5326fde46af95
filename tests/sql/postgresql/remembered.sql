-- Read who held the given keys, and whether they are still remembered.
SELECT duerow_remembered.queue, duerow_remembered.key, duerow_remembered.id, duerow_remembered.until >
    statement_timestamp() AS anon_1
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key)
JOIN duerow_remembered ON duerow_remembered.queue = given.queue AND duerow_remembered.key = given.key
