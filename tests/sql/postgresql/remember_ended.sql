-- Remember the keys of messages whose turn is about to end: of the rows whose token matches, locked.
INSERT INTO duerow_remembered (queue, key, id, until) SELECT duerow_message.queue, duerow_message.key,
    duerow_message.id, statement_timestamp() + (:keys::BIGINT * INTERVAL '1 microsecond') AS anon_1
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
JOIN duerow_message ON duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
WHERE duerow_message.key IS NOT NULL
ORDER BY duerow_message.queue, duerow_message.key
FOR UPDATE OF duerow_message
ON CONFLICT (queue, key) DO UPDATE
SET id = excluded.id, until = excluded.until
