-- As insert_keyless, for rows of which some are in groups; `behind`: another of its group goes before
-- it.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', CASE WHEN given.behind THEN NULL ELSE coalesce(given.due, :now +
    given.delay, :now) END AS anon_1, coalesce(given.due, :now + given.delay, :now) AS coalesce_1, 0, 0, :now AS
    anon_2, CASE WHEN given.behind THEN coalesce(given.due, :now + given.delay, :now) ELSE NULL END AS anon_3
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key",
    json_extract(given_rows.value, '$[2]') AS kind, json_extract(given_rows.value, '$[3]') AS payload,
    json_extract(given_rows.value, '$[4]') AS headers, json_extract(given_rows.value, '$[5]') AS "group",
    json_extract(given_rows.value, '$[6]') AS priority, json_extract(given_rows.value, '$[7]') AS due,
    json_extract(given_rows.value, '$[8]') AS delay, json_extract(given_rows.value, '$[9]') AS behind
FROM json_each(:given) AS given_rows) AS given
RETURNING id
