-- Take turns away; return their ids.
DELETE
FROM duerow_history
WHERE (duerow_history.id, duerow_history.token) IN (SELECT given.id, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id
