-- Let leases run until now + lease; return id, token and the new end of those whose token matches.
UPDATE duerow_message
SET due_at=(:now + :lease), leased_until=(:now + :lease)
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token, leased_until
