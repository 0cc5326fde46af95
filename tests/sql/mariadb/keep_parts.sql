-- Keep turns of messages that become parts of sets: with headers of their own.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.`key`, coalesce(given.kind,
    duerow_message.kind) AS coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2, given.headers,
    duerow_message.`group`, duerow_message.priority, duerow_message.attempts, duerow_message.created_at,
    duerow_message.first_due_at, coalesce(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_3,
    given.moved_to, coalesce(duerow_message.last_attempt_at, UTC_TIMESTAMP(6)) AS coalesce_4, UTC_TIMESTAMP(6) AS
    anon_1, duerow_message.leased_by, given.error, given.outcome, timestampadd(MICROSECOND, :history,
    UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`outcome`, given_rows.`moved_to`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`error`, given_rows.`headers`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `outcome` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `moved_to` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[5]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[6]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[7]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE ON DUPLICATE KEY UPDATE until =
VALUES(until)
