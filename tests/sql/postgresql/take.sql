-- Take rows that were picked away, as `pop` does.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT given.id
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id))
RETURNING duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload,
    duerow_message.kind, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error, statement_timestamp() AS statement_timestamp_1
