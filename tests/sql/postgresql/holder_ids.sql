-- Read the ids of the live messages that hold the given keys.
SELECT duerow_message.queue, duerow_message.key, duerow_message.id
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key)
JOIN duerow_message ON duerow_message.queue = given.queue AND duerow_message.key = given.key
WHERE duerow_message.key IS NOT NULL AND duerow_message.status IN ('new', 'error')
