-- statement: forget_notes
-- Take names away; return them.
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
-- Take away the entries that were staged under the given numbers.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_staged
FROM (SELECT given_rows.`staging_id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`staging_id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS
    given STRAIGHT_JOIN duerow_staged ON duerow_staged.staging_id = given.staging_id

-- statement: forget_stagings
-- Take away the notes of what was staged under the given numbers.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_staging
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_staging ON duerow_staging.id = given.id

-- statement: note
-- Note a name, and return it; nothing if it is noted already, also by who commits at this moment.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.name = :name_in
FOR UPDATE; INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in, UTC_TIMESTAMP(6))

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number under which they are kept.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, `lines`, due, staged_at)
VALUES (:batch_in, :part_in, :entries_in, :keyed_in, :grouped_in, :lines_in, :due_in, UTC_TIMESTAMP(6)); SELECT
    last_insert_id() AS last_insert_id_1

-- statement: old_notes
-- Lock the oldest names that were noted long ago, and read them.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= timestampadd(MICROSECOND, :span, UTC_TIMESTAMP(6))
ORDER BY duerow_noted.noted_at
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: old_stagings
-- Lock the oldest notes of what was staged too long ago, and read their numbers and how many entries
-- it is.
SELECT duerow_staging.id, duerow_staging.entries
FROM duerow_staging
WHERE duerow_staging.staged_at <= timestampadd(MICROSECOND, :span, UTC_TIMESTAMP(6))
ORDER BY duerow_staging.staged_at
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: publish
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
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
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
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
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
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
-- Read entries that were staged under a number, from a place on, in their order.
SELECT duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind, duerow_staged.payload AS payload,
    duerow_staged.headers AS headers, duerow_staged.`group`, duerow_staged.priority, duerow_staged.due,
    duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in AND duerow_staged.place >= :place_in
ORDER BY duerow_staged.place
LIMIT :limit_in

-- statement: stagings
-- Read what a batch has staged, in the order in which it was, locked against who publishes or discards
-- it.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    duerow_staging.`lines` AS `lines`, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in
ORDER BY duerow_staging.id
FOR UPDATE
