-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, `key`, kind, payload, headers, `group`, priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given.`key`, given.kind, given.payload, given.headers,
    given.`group`, given.priority, given.due, given.delay
FROM (SELECT given_rows.`staging_id`, given_rows.`place`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`due`,
    given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`staging_id` BIGINT PATH '$[0]', `place` BIGINT PATH '$[1]', `queue`
    VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[6]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[7]', `priority` BIGINT PATH '$[8]', `due` DATETIME(6) PATH '$[9]',
    `delay` BIGINT PATH '$[10]', nth_given FOR ORDINALITY)) AS given_rows) AS given
