-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, `key`, kind, payload, headers, `group`, priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged.`group`, duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, timestampadd(MICROSECOND, duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS
    coalesce_1, coalesce(duerow_staged.due, timestampadd(MICROSECOND, duerow_staged.delay, UTC_TIMESTAMP(6)),
    UTC_TIMESTAMP(6)) AS coalesce__1, 0, 0, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place
