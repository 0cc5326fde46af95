-- Read the ids and tokens of the messages of sets that are still there, locked where rows can be.
SELECT duerow_message.id, duerow_message.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS queue
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.queue = given.queue
