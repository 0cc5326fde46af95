-- Keep turns of messages that become parts of sets: with headers of their own.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message."key", coalesce(given.kind, duerow_message.kind) AS
    coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2, given.headers, duerow_message."group",
    duerow_message.priority, duerow_message.attempts, duerow_message.created_at, duerow_message.first_due_at,
    coalesce(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_3, given.moved_to,
    coalesce(duerow_message.last_attempt_at, :now) AS coalesce_4, :now AS anon_1, duerow_message.leased_by,
    given.error, given.outcome, :now + :history AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS outcome, json_extract(given_rows.value, '$[3]') AS moved_to,
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS error, json_extract(given_rows.value, '$[7]') AS headers
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until
