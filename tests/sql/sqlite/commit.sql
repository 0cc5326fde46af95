-- Take away the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
WHERE (duerow_message.id, duerow_message.token) IN (SELECT given.id, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, token
