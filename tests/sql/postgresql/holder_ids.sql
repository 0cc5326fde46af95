-- Read the ids of the live messages that hold the given keys.
SELECT found.queue, found.key, found.id
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key)
JOIN LATERAL (SELECT duerow_message.queue AS queue, duerow_message.key AS key, duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.key = given.key AND duerow_message.key IS NOT NULL AND
    duerow_message.status IN ('new', 'error')
LIMIT 1) AS found ON true
