-- Read who held the given keys, and whether they are still remembered.
SELECT found.queue, found.key, found.id, found.still
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key)
JOIN LATERAL (SELECT duerow_remembered.queue AS queue, duerow_remembered.key AS key, duerow_remembered.id AS id,
    duerow_remembered.until > statement_timestamp() AS still
FROM duerow_remembered
WHERE duerow_remembered.queue = given.queue AND duerow_remembered.key = given.key
LIMIT 1) AS found ON true
