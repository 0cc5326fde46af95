-- Add messages with ids handed out before; return the ids of those whose key was free. Locks in key
-- order.
INSERT INTO duerow_message (id, queue, `key`, kind, payload, headers, `group`, priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.id, given.queue, given.`key`, given.kind, given.payload, given.headers,
    given.`group`, given.priority, 'new', coalesce(given.due, timestampadd(MICROSECOND, given.delay,
    UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce_1, coalesce(given.due, timestampadd(MICROSECOND, given.delay,
    UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce__1, 0, 0, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`, given_rows.`payload`,
    given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`due`, given_rows.`delay`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[6]', `priority` BIGINT PATH '$[7]', `due` DATETIME(6) PATH '$[8]',
    `delay` BIGINT PATH '$[9]', nth_given FOR ORDINALITY)) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.`key`, given.id ON DUPLICATE KEY UPDATE id = duerow_message.id; SELECT duerow_message.id
FROM duerow_message FORCE INDEX (PRIMARY)
WHERE duerow_message.id IN :found
