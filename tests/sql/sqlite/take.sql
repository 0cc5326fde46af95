-- Take rows that were picked away, as `pop` does.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, queue, payload AS payload, kind, "key", headers AS headers, "group", priority, status, coalesce(due_at,
    behind_at) AS coalesce_1, first_due_at, attempts, token, leased_by, leased_until, created_at, last_attempt_at,
    last_error AS last_error, :now AS anon_1
