-- Keep the turns of rows that were picked whose lease ended unsettled: as failed, or dead if used up.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message."key", duerow_message.kind, duerow_message.payload,
    duerow_message.headers, duerow_message."group", duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, CASE WHEN (duerow_message.attempts >= :attempts_in) THEN :to_in END AS
    anon_1, coalesce(duerow_message.last_attempt_at, :now) AS coalesce_2, duerow_message.leased_until,
    duerow_message.leased_by, json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', duerow_message.leased_until / 1000000,
    'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT) || ' of ' || coalesce(CAST(:attempts_in
    AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') AS json_object_1, CASE WHEN
    (duerow_message.attempts >= :attempts_in) THEN 'dead' ELSE 'failed' END AS anon_2, :now + :history AS anon_3
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_until IS NOT NULL
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until
