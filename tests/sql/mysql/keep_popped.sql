-- Keep the turns of rows that were picked and are about to be popped.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token + 1 AS anon_1, duerow_message.queue, duerow_message.`key`,
    duerow_message.kind, duerow_message.payload, duerow_message.headers, duerow_message.`group`,
    duerow_message.priority, duerow_message.attempts + 1 AS anon_2, duerow_message.created_at,
    duerow_message.first_due_at, duerow_message.due_at, NULL AS anon_3, UTC_TIMESTAMP(6) AS anon_4, UTC_TIMESTAMP(6)
    AS anon__1, NULL AS anon__2, NULL AS anon__3, 'done', timestampadd(MICROSECOND, :history, UTC_TIMESTAMP(6)) AS
    timestampadd_1
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE OF duerow_message ON DUPLICATE KEY UPDATE until = timestampadd(MICROSECOND, :history, UTC_TIMESTAMP(6))
