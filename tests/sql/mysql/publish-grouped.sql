-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
SELECT count(*) AS count_1
FROM (SELECT 1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in) AS fresh; INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, behind_at,
    id) SELECT duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind, duerow_staged.payload,
    duerow_staged.headers, duerow_staged.`group`, duerow_staged.priority, 'new', CASE WHEN (duerow_staged.`group` IS
    NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged.`group`
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE coalesce(duerow_staged.due, timestampadd(MICROSECOND,
    duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) END AS anon_1, coalesce(duerow_staged.due,
    timestampadd(MICROSECOND, duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce_1, 0, 0,
    UTC_TIMESTAMP(6) AS anon_2, CASE WHEN (duerow_staged.`group` IS NOT NULL AND row_number() OVER (PARTITION BY
    duerow_staged.queue, duerow_staged.`group`
ORDER BY duerow_staged.place) > 1) THEN coalesce(duerow_staged.due, timestampadd(MICROSECOND, duerow_staged.delay,
    UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) ELSE NULL END AS anon_3, :first_id + (row_number() OVER (ORDER BY
    duerow_staged.place) - 1) * :id_stride AS anon_4
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place
