-- Read the ids of the live messages that hold the given keys.
SELECT duerow_message.queue, duerow_message."key", duerow_message.id
FROM duerow_message
WHERE (duerow_message.queue, duerow_message."key") IN (SELECT given.queue, given."key"
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given) AND duerow_message."key" IS NOT NULL AND duerow_message.status IN
    ('new', 'error')
