-- statement: forget_notes
-- Delete names; return them.
SELECT STRAIGHT_JOIN duerow_noted.name, duerow_noted.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`name`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_noted ON duerow_noted.name = given.name
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_noted
FROM (SELECT found_rows.`name`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_noted ON duerow_noted.name = found.name

-- statement: forget_staged
-- Delete the entries of the given stagings.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_staged
FROM (SELECT given_rows.`staging_id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`staging_id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS
    given STRAIGHT_JOIN duerow_staged ON duerow_staged.staging_id = given.staging_id

-- statement: forget_stagings
-- Delete the given stagings.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_staging
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_staging ON duerow_staging.id = given.id

-- statement: hasten
-- Make unleased messages that hold a key due earlier, at a given time; return the changed ones.
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

-- statement: insert_arrived
-- Add messages in their former state, with given ids; return the ids of messages whose key was free.
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

-- statement: insert_grouped
-- Like `insert_keyless`, with some rows in groups; `behind`: another message of the group goes first.
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
-- Add messages without keys; return their ids, which ascend in the order of the input.
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
-- Add messages without keys; return their ids, which ascend in the order of the input.
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
-- Add messages with given ids, locking in key order; return the ids of messages whose key was free.
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

-- statement: insert_turns
-- Add finished turns unchanged.
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

-- statement: next_ids
-- Return `count` new ids, ascending.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id

-- statement: note
-- Note a name, and return it; return nothing if it is already noted, even by a concurrent commit.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.name = :name_in
FOR UPDATE; INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in, UTC_TIMESTAMP(6))

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number of the staging.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, `lines`, due, staged_at)
VALUES (:batch_in, :part_in, :entries_in, :keyed_in, :grouped_in, :lines_in, :due_in, UTC_TIMESTAMP(6)); SELECT
    last_insert_id() AS last_insert_id_1

-- statement: noted_of
-- Read which of the given names are noted.
SELECT STRAIGHT_JOIN duerow_noted.name
FROM (SELECT given_rows.`name`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_noted ON duerow_noted.name = given.name FOR SHARE

-- statement: old_notes
-- Lock and read the oldest names that were noted long ago.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= timestampadd(MICROSECOND, :span, UTC_TIMESTAMP(6))
ORDER BY duerow_noted.noted_at
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: old_stagings
-- Lock the oldest expired stagings, and read their numbers and how many entries they have.
SELECT duerow_staging.id, duerow_staging.entries
FROM duerow_staging
WHERE duerow_staging.staged_at <= timestampadd(MICROSECOND, :span, UTC_TIMESTAMP(6))
ORDER BY duerow_staging.staged_at
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: publish
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
SELECT count(*) AS count_1
FROM (SELECT 1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in) AS fresh; INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, id) SELECT
    duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind, duerow_staged.payload, duerow_staged.headers,
    duerow_staged.`group`, duerow_staged.priority, 'new', coalesce(duerow_staged.due, timestampadd(MICROSECOND,
    duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce_1, coalesce(duerow_staged.due,
    timestampadd(MICROSECOND, duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce__1, 0, 0,
    UTC_TIMESTAMP(6) AS anon_1, :first_id + (row_number() OVER (ORDER BY duerow_staged.place) - 1) * :id_stride AS
    anon_2
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place

-- statement: publish-grouped
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
SELECT count(*) AS count_1
FROM (SELECT 1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in) AS fresh; INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, behind_at,
    id) SELECT duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind, duerow_staged.payload,
    duerow_staged.headers, duerow_staged.`group`, duerow_staged.priority, 'new', CASE WHEN (duerow_staged.`group` IS
    NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged.`group`
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE coalesce(duerow_staged.due, timestampadd(MICROSECOND,
    duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) END AS anon_1, coalesce(duerow_staged.due,
    timestampadd(MICROSECOND, duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce_1, 0, 0,
    UTC_TIMESTAMP(6) AS anon_2, CASE WHEN (duerow_staged.`group` IS NOT NULL AND row_number() OVER (PARTITION BY
    duerow_staged.queue, duerow_staged.`group`
ORDER BY duerow_staged.place) > 1) THEN coalesce(duerow_staged.due, timestampadd(MICROSECOND, duerow_staged.delay,
    UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) ELSE NULL END AS anon_3, :first_id + (row_number() OVER (ORDER BY
    duerow_staged.place) - 1) * :id_stride AS anon_4
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place

-- statement: publish-keyed
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
SELECT count(*) AS count_1
FROM (SELECT 1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in) AS fresh; INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, id) SELECT
    duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind, duerow_staged.payload, duerow_staged.headers,
    duerow_staged.`group`, duerow_staged.priority, 'new', coalesce(duerow_staged.due, timestampadd(MICROSECOND,
    duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce_1, coalesce(duerow_staged.due,
    timestampadd(MICROSECOND, duerow_staged.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) AS coalesce__1, 0, 0,
    UTC_TIMESTAMP(6) AS anon_1, :first_id + (row_number() OVER (ORDER BY duerow_staged.place) - 1) * :id_stride AS
    anon_2
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place ON DUPLICATE KEY UPDATE id = duerow_message.id

-- statement: replace
-- Give messages that hold a key the content of a new push, and end their leases.
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

-- statement: stage
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

-- statement: staged
-- Read the entries of a staging in their order, starting at a place.
SELECT duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind, duerow_staged.payload AS payload,
    duerow_staged.headers AS headers, duerow_staged.`group`, duerow_staged.priority, duerow_staged.due,
    duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in AND duerow_staged.place >= :place_in
ORDER BY duerow_staged.place
LIMIT :limit_in

-- statement: stagings
-- Read the stagings of a batch in order, and lock them against a concurrent publish or discard.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    duerow_staging.`lines` AS `lines`, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in
ORDER BY duerow_staging.id
FOR UPDATE
