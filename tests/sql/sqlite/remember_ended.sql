-- Remember the keys of messages whose turn is about to end: of the rows whose token matches, locked.
INSERT INTO duerow_remembered (queue, "key", id, until) SELECT duerow_message.queue, duerow_message."key",
    duerow_message.id, :now + :keys AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message."key" IS NOT NULL
ORDER BY duerow_message.queue, duerow_message."key"
ON CONFLICT (queue, "key") DO UPDATE
SET id = excluded.id, until = excluded.until
