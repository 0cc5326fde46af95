-- Read the rows of a queue whose token matches, as OUTLINE.
SELECT duerow_message.id, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
JOIN duerow_message ON duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
WHERE duerow_message.queue = :queue_in::VARCHAR
