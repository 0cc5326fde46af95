-- Add messages without keys; return their ids, which follow the order given.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, :now + given.delay, :now) AS coalesce_1,
    coalesce(given.due, :now + given.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key",
    json_extract(given_rows.value, '$[2]') AS kind, json_extract(given_rows.value, '$[3]') AS payload,
    json_extract(given_rows.value, '$[4]') AS headers, json_extract(given_rows.value, '$[5]') AS "group",
    json_extract(given_rows.value, '$[6]') AS priority, json_extract(given_rows.value, '$[7]') AS due,
    json_extract(given_rows.value, '$[8]') AS delay
FROM json_each(:given) AS given_rows) AS given
RETURNING id
