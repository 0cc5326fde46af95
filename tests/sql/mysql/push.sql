-- statement: hasten
-- Move the due time of unleased held messages forward to a given time; return the changed ones.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`due`, given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `due` DATETIME(6) PATH '$[1]', `delay` BIGINT PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_by IS NULL AND
    coalesce(duerow_message.due_at, duerow_message.behind_at) > coalesce(given.due, timestampadd(MICROSECOND,
    given.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6))
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`due`, given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `due` DATETIME(6) PATH '$[1]', `delay` BIGINT PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id =
    given.id AND duerow_message.leased_by IS NULL AND coalesce(duerow_message.due_at, duerow_message.behind_at) >
    coalesce(given.due, timestampadd(MICROSECOND, given.delay, CAST(:told AS DATETIME(6))), CAST(:told AS
    DATETIME(6))) AND (duerow_message.id IN :found)
SET duerow_message.due_at = coalesce(given.due, timestampadd(MICROSECOND, given.delay, CAST(:told AS DATETIME(6))),
    CAST(:told AS DATETIME(6))), duerow_message.behind_at = NULL

-- statement: holder_ids
-- Read the ids of the live messages that hold the given keys.
SELECT STRAIGHT_JOIN duerow_message.queue, duerow_message.`key`, duerow_message.id
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.queue = given.queue AND duerow_message.live_key = given.`key` AND
    duerow_message.live_key IS NOT NULL FOR SHARE

-- statement: holders
-- Read the live messages that hold the given keys, and lock them in order if the database can.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.queue = given.queue AND duerow_message.live_key = given.`key` AND
    duerow_message.live_key IS NOT NULL
FOR UPDATE

-- statement: insert_grouped
-- Like insert_keyless, if some rows are in groups; `behind`: another message of the group goes first.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, behind_at,
    id) SELECT given.queue, given.`key`, given.kind, given.payload, given.headers, given.`group`, given.priority,
    'new', CASE WHEN given.behind THEN NULL ELSE coalesce(given.due, timestampadd(MICROSECOND, given.delay,
    UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) END AS anon_1, coalesce(given.due, timestampadd(MICROSECOND, given.delay,
    UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce_1, 0, 0, UTC_TIMESTAMP(6) AS anon_2, CASE WHEN given.behind THEN
    coalesce(given.due, timestampadd(MICROSECOND, given.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) ELSE NULL END AS
    anon_3, :first_id + (given.nth_given - 1) * :id_stride AS anon_4
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.`kind`, given_rows.`payload`, given_rows.`headers`,
    given_rows.`group`, given_rows.`priority`, given_rows.`due`, given_rows.`delay`, given_rows.`behind`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `priority` BIGINT PATH '$[6]', `due` DATETIME(6) PATH '$[7]',
    `delay` BIGINT PATH '$[8]', `behind` BIGINT PATH '$[9]', nth_given FOR ORDINALITY)) AS given_rows) AS given

-- statement: insert_keyless
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

-- statement: insert_keyless-plain
-- Add messages without keys; return their ids, which follow the order given.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, id) SELECT
    given.queue, given.`key`, given.kind, given.payload, NULL AS anon_1, given.`group`, given.priority, 'new',
    UTC_TIMESTAMP(6) AS anon_2, UTC_TIMESTAMP(6) AS anon__1, 0, 0, UTC_TIMESTAMP(6) AS anon__2, :first_id +
    (given.nth_given - 1) * :id_stride AS anon_3
FROM (SELECT given_rows.`payload`, CONVERT(:given_queue
USING utf8mb4) COLLATE utf8mb4_0900_bin AS `queue`, CONVERT(:given_key
USING utf8mb4) COLLATE utf8mb4_0900_bin AS `key`, CONVERT(:given_kind
USING utf8mb4) COLLATE utf8mb4_0900_bin AS `kind`, CONVERT(:given_group
USING utf8mb4) COLLATE utf8mb4_0900_bin AS `group`, CAST(:given_priority AS SIGNED) AS `priority`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given

-- statement: insert_many
-- Add messages with given ids; return the ids of those whose key was free. Locks in key order.
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

-- statement: insert_one
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (id, queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at)
VALUES (:first_id, :queue_in, NULL, :kind_in, :payload_in, NULL, NULL, 0, 'new', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6),
    0, 0, UTC_TIMESTAMP(6))

-- statement: insert_one-asking
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, id) SELECT
    CAST(:queue_in AS CHAR) AS anon_1, CAST(:key_in AS CHAR) AS anon_2, CAST(:kind_in AS CHAR) AS anon_3,
    CAST(:payload_in AS CHAR) AS anon_4, NULL AS anon_5, NULL AS anon__1, 0, 'new', UTC_TIMESTAMP(6) AS anon_6,
    UTC_TIMESTAMP(6) AS anon__2, 0, 0, UTC_TIMESTAMP(6) AS anon__3, :first_id AS anon_7
FROM DUAL
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = :queue_in AND duerow_queue.draining = 1)) ON DUPLICATE KEY UPDATE id = duerow_message.id;
    SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id = :first_id

-- statement: insert_one-delay-due-headers-key
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (id, queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at)
VALUES (:first_id, :queue_in, :key_in, :kind_in, :payload_in, :headers_in, NULL, 0, 'new', coalesce(:due_in,
    timestampadd(MICROSECOND, :delay_in, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)), coalesce(:due_in,
    timestampadd(MICROSECOND, :delay_in, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)), 0, 0, UTC_TIMESTAMP(6)) ON DUPLICATE
    KEY UPDATE id = duerow_message.id; SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id = :first_id

-- statement: next_ids
-- Return `count` new ids, ascending.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id

-- statement: replace
-- Give held messages the content of a new push; a lease on them ends.
UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`kind`, given_rows.`payload`, given_rows.`headers`, given_rows.`group`, given_rows.`priority`,
    given_rows.`due`, given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `priority` BIGINT PATH '$[5]', `due` DATETIME(6) PATH '$[6]',
    `delay` BIGINT PATH '$[7]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id
SET duerow_message.kind = given.kind, duerow_message.payload = given.payload, duerow_message.headers = given.headers,
    duerow_message.`group` = given.`group`, duerow_message.priority = given.priority, duerow_message.status = 'new',
    duerow_message.due_at = coalesce(given.due, timestampadd(MICROSECOND, given.delay, UTC_TIMESTAMP(6)),
    UTC_TIMESTAMP(6)), duerow_message.behind_at = NULL, duerow_message.first_due_at = coalesce(given.due,
    timestampadd(MICROSECOND, given.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)), duerow_message.attempts = 0,
    duerow_message.last_attempt_at = NULL, duerow_message.last_error = NULL, duerow_message.token =
    duerow_message.token + 1, duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
