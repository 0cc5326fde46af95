-- Send rows whose token matches to another queue; return their receipts.
UPDATE duerow_message
SET queue=given.queue, "key"=given."key", kind=coalesce(given.kind, duerow_message.kind),
    payload=coalesce(given.payload, duerow_message.payload), headers=given.headers, "group"=given."group",
    priority=given.priority, status='new', due_at=coalesce(given.due, :now + given.delay, :now),
    first_due_at=coalesce(given.due, :now + given.delay, :now), attempts=0, token=(duerow_message.token + 1),
    leased_by=NULL, leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS queue, json_extract(given_rows.value, '$[3]') AS "key",
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS headers, json_extract(given_rows.value, '$[7]') AS "group",
    json_extract(given_rows.value, '$[8]') AS priority, json_extract(given_rows.value, '$[9]') AS due,
    json_extract(given_rows.value, '$[10]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token - 1 AS anon_1
