-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id AND duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.status = 'dead', duerow_message.due_at = NULL, duerow_message.last_error = coalesce(given.error,
    duerow_message.last_error), duerow_message.token = duerow_message.token + 1, duerow_message.leased_by = NULL,
    duerow_message.leased_until = NULL

-- statement: commit
-- Delete the rows whose token matches; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_message
FROM (SELECT found_rows.`id`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS found_rows) AS found STRAIGHT_JOIN duerow_message ON
    duerow_message.id = found.id

-- statement: extend
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_message FORCE INDEX (PRIMARY)
SET duerow_message.due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))), duerow_message.leased_until
    = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE duerow_message.id IN :found

-- statement: move
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

-- statement: owned
-- Read the rows whose token matches, locked against changes where rows can be.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE

-- statement: release
-- Give rows whose token matches their place in line and their attempt back; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.due_at = coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    duerow_message.attempts = duerow_message.attempts - 1, duerow_message.token = duerow_message.token + 1,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`delay`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `delay` BIGINT PATH
    '$[2]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`token`, given_rows.`delay`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `delay` BIGINT PATH
    '$[2]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id AND duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.status = 'error', duerow_message.due_at = timestampadd(MICROSECOND, given.delay, CAST(:told AS
    DATETIME(6))), duerow_message.last_error = coalesce(given.error, duerow_message.last_error), duerow_message.token
    = duerow_message.token + 1, duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
