-- Keep the turns of rows that were picked whose lease ended unsettled: as failed, or dead if used up.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message.key, duerow_message.kind, duerow_message.payload,
    duerow_message.headers, duerow_message."group", duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, CASE WHEN (duerow_message.attempts >= :attempts_in::INTEGER) THEN
    :to_in::VARCHAR END AS anon_1, coalesce(duerow_message.last_attempt_at, statement_timestamp()) AS coalesce_2,
    duerow_message.leased_until, duerow_message.leased_by, CAST(concat('{"message":', to_json(concat('was in hand when
    its worker died: lease of ', duerow_message.leased_by, ' ended at ', to_char(timezone('UTC',
    duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ', duerow_message.attempts, ' of ',
    coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS JSON)
    AS concat_1, CASE WHEN (duerow_message.attempts >= :attempts_in::INTEGER) THEN 'dead' ELSE 'failed' END AS anon_2,
    statement_timestamp() + (:history::BIGINT * INTERVAL '1 microsecond') AS anon_3
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id)
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_until IS NOT NULL
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until
