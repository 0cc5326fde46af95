-- Give held messages the content of a new push; a lease on them ends.
UPDATE duerow_message
SET kind=given.kind, payload=given.payload, headers=given.headers, "group"=given."group", priority=given.priority,
    status='new', due_at=coalesce(given.due, :now + given.delay, :now), behind_at=NULL,
    first_due_at=coalesce(given.due, :now + given.delay, :now), attempts=0, token=(duerow_message.token + 1),
    leased_by=NULL, leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS kind,
    json_extract(given_rows.value, '$[2]') AS payload, json_extract(given_rows.value, '$[3]') AS headers,
    json_extract(given_rows.value, '$[4]') AS "group", json_extract(given_rows.value, '$[5]') AS priority,
    json_extract(given_rows.value, '$[6]') AS due, json_extract(given_rows.value, '$[7]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
