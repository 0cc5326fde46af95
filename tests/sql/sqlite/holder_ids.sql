-- Read the ids of the live messages that hold the given keys.
SELECT duerow_message.queue, duerow_message."key", duerow_message.id
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.queue = given.queue AND duerow_message."key" = given."key" AND
    duerow_message.status IN ('new', 'error')
