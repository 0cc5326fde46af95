-- Read the rows of a queue whose token matches, as OUTLINE.
SELECT duerow_message.id, duerow_message."key", duerow_message.headers AS headers, duerow_message."group",
    duerow_message.priority
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in
