-- Add messages as they were, with ids handed out before; return the ids of those whose key was free.
INSERT INTO duerow_message (id, queue, `key`, kind, payload, headers, `group`, priority, status, due_at, first_due_at,
    attempts, token, created_at, last_attempt_at, last_error) SELECT given.id, given.queue, given.`key`, given.kind,
    given.payload, given.headers, given.`group`, given.priority, given.status, given.due_at, given.first_due_at,
    given.attempts, given.token, given.created_at, given.last_attempt_at, given.last_error
FROM (SELECT given_rows.`id`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`, given_rows.`payload`,
    given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`status`, given_rows.`due_at`,
    given_rows.`first_due_at`, given_rows.`attempts`, given_rows.`token`, given_rows.`created_at`,
    given_rows.`last_attempt_at`, given_rows.`last_error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[6]', `priority` BIGINT PATH '$[7]', `status` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[8]', `due_at` DATETIME(6) PATH '$[9]', `first_due_at` DATETIME(6) PATH
    '$[10]', `attempts` BIGINT PATH '$[11]', `token` BIGINT PATH '$[12]', `created_at` DATETIME(6) PATH '$[13]',
    `last_attempt_at` DATETIME(6) PATH '$[14]', `last_error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[15]', nth_given FOR ORDINALITY)) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.`key`, given.id ON DUPLICATE KEY UPDATE id = duerow_message.id; SELECT duerow_message.id
FROM duerow_message FORCE INDEX (PRIMARY)
WHERE duerow_message.id IN :found
