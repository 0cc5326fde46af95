-- Send rows whose token matches to another queue; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`due`,
    given_rows.`delay`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `queue` VARCHAR(255)
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[5]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[6]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[7]', `priority` BIGINT PATH '$[8]', `due` DATETIME(6) PATH '$[9]',
    `delay` BIGINT PATH '$[10]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`token`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`due`,
    given_rows.`delay`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `queue` VARCHAR(255)
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[5]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[6]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[7]', `priority` BIGINT PATH '$[8]', `due` DATETIME(6) PATH '$[9]',
    `delay` BIGINT PATH '$[10]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id
    AND duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.queue = given.queue, duerow_message.`key` = given.`key`, duerow_message.kind = coalesce(given.kind,
    duerow_message.kind), duerow_message.payload = coalesce(given.payload, duerow_message.payload),
    duerow_message.headers = given.headers, duerow_message.`group` = given.`group`, duerow_message.priority =
    given.priority, duerow_message.status = 'new', duerow_message.due_at = coalesce(given.due,
    timestampadd(MICROSECOND, given.delay, CAST(:told AS DATETIME(6))), CAST(:told AS DATETIME(6))),
    duerow_message.first_due_at = coalesce(given.due, timestampadd(MICROSECOND, given.delay, CAST(:told AS
    DATETIME(6))), CAST(:told AS DATETIME(6))), duerow_message.attempts = 0, duerow_message.last_attempt_at = NULL,
    duerow_message.last_error = NULL, duerow_message.token = duerow_message.token + 1, duerow_message.leased_by =
    NULL, duerow_message.leased_until = NULL
