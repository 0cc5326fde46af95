-- Give held messages the content of a new push; a lease on them ends.
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`kind`, given_rows.`payload`, given_rows.`headers`, given_rows.`group`,
    given_rows.`priority`, given_rows.`due`, given_rows.`delay`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[4]', `priority` BIGINT PATH '$[5]', `due` DATETIME(6) PATH '$[6]',
    `delay` BIGINT PATH '$[7]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id
SET duerow_message.kind = given.kind, duerow_message.payload = given.payload, duerow_message.headers = given.headers,
    duerow_message.`group` = given.`group`, duerow_message.priority = given.priority, duerow_message.status = 'new',
    duerow_message.due_at = coalesce(given.due, timestampadd(MICROSECOND, given.delay, UTC_TIMESTAMP(6)),
    UTC_TIMESTAMP(6)), duerow_message.behind_at = NULL, duerow_message.first_due_at = coalesce(given.due,
    timestampadd(MICROSECOND, given.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)), duerow_message.attempts = 0,
    duerow_message.last_attempt_at = NULL, duerow_message.last_error = NULL, duerow_message.token =
    duerow_message.token + 1, duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
