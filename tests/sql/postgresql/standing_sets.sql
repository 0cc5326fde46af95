-- Read the ids and tokens of the messages of sets that are still there, locked where rows can be.
SELECT duerow_message.id, duerow_message.token
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]))
    AS given(id, queue)
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.queue = given.queue
FOR UPDATE OF duerow_message
