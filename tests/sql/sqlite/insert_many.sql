-- Add messages with ids handed out before; return the ids of those whose key was free. Locks in key
-- order.
INSERT INTO duerow_message (id, queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.id, given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, :now + given.delay, :now) AS coalesce_1,
    coalesce(given.due, :now + given.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS queue,
    json_extract(given_rows.value, '$[2]') AS "key", json_extract(given_rows.value, '$[3]') AS kind,
    json_extract(given_rows.value, '$[4]') AS payload, json_extract(given_rows.value, '$[5]') AS headers,
    json_extract(given_rows.value, '$[6]') AS "group", json_extract(given_rows.value, '$[7]') AS priority,
    json_extract(given_rows.value, '$[8]') AS due, json_extract(given_rows.value, '$[9]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given."key", given.id
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING id
