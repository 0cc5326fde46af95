-- Add messages without keys; return their ids, which follow the order given.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, id) SELECT
    given.queue, given.`key`, given.kind, given.payload, given.headers, given.`group`, given.priority, 'new',
    coalesce(given.due, timestampadd(MICROSECOND, given.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce_1,
    coalesce(given.due, timestampadd(MICROSECOND, given.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce__1, 0,
    0, UTC_TIMESTAMP(6) AS anon_1, :first_id + (given.nth_given - 1) * :id_stride AS anon_2
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.`kind`, given_rows.`payload`, given_rows.`headers`,
    given_rows.`group`, given_rows.`priority`, given_rows.`due`, given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `priority` BIGINT PATH '$[6]', `due` DATETIME(6) PATH '$[7]',
    `delay` BIGINT PATH '$[8]', nth_given FOR ORDINALITY)) AS given_rows) AS given
