-- Read the ids of the rows that `change` would change.
SELECT duerow_message.id
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= :now)
