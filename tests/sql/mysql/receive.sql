-- statement: insert_arrived
-- Add messages as they were, with given ids; return the ids of those whose key was free.
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

-- statement: insert_turns
-- Add finished turns as they were.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, outcome, moved_to,
    attempts, created_at, first_due_at, due_at, started_at, finished_at, worker, error, until) SELECT given.id,
    given.token, given.queue, given.`key`, given.kind, given.payload, given.headers, given.`group`, given.priority,
    given.outcome, given.moved_to, given.attempts, given.created_at, given.first_due_at, given.due_at,
    given.started_at, given.finished_at, given.worker, given.error, given.until
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`outcome`,
    given_rows.`moved_to`, given_rows.`attempts`, given_rows.`created_at`, given_rows.`first_due_at`,
    given_rows.`due_at`, given_rows.`started_at`, given_rows.`finished_at`, given_rows.`worker`, given_rows.`error`,
    given_rows.`until`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `queue` VARCHAR(255)
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[6]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[7]', `priority` BIGINT PATH '$[8]', `outcome` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[9]', `moved_to` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[10]', `attempts` BIGINT PATH '$[11]', `created_at` DATETIME(6) PATH
    '$[12]', `first_due_at` DATETIME(6) PATH '$[13]', `due_at` DATETIME(6) PATH '$[14]', `started_at` DATETIME(6) PATH
    '$[15]', `finished_at` DATETIME(6) PATH '$[16]', `worker` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[17]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[18]', `until` DATETIME(6) PATH '$[19]', nth_given FOR ORDINALITY)) AS
    given_rows) AS given

-- statement: noted_of
-- Read which of the given names are recorded.
SELECT STRAIGHT_JOIN duerow_noted.name
FROM (SELECT given_rows.`name`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_noted ON duerow_noted.name = given.name FOR SHARE
