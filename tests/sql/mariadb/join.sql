-- statement: delete_parts
-- Delete the parts of sets.
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_part
FROM (SELECT given_rows.`set_id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`set_id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN duerow_part
    ON duerow_part.set_id = given.set_id

-- statement: forget_sets
-- Delete the rows of sets.
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_set
FROM (SELECT given_rows.`queue`, given_rows.`correlation`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS given_rows) AS given STRAIGHT_JOIN duerow_set ON
    duerow_set.queue = given.queue AND duerow_set.correlation = given.correlation

-- statement: insert_parts
-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, given.content
FROM (SELECT given_rows.`set_id`, given_rows.`part_id`, given_rows.`content`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`set_id` BIGINT PATH '$[0]', `part_id` BIGINT PATH '$[1]', `content` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS given_rows) AS given

-- statement: lock_sets
-- Lock the rows of sets, and add missing ones; return the rows, and whether each set was complete
-- before.
INSERT INTO duerow_set (queue, correlation, parts) SELECT given.queue, given.correlation, 0
FROM (SELECT given_rows.`queue`, given_rows.`correlation`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.correlation ON DUPLICATE KEY UPDATE parts = duerow_set.parts
RETURNING duerow_set.queue, duerow_set.correlation, duerow_set.set_id, duerow_set.parts, duerow_set.closed_until >
    UTC_TIMESTAMP(6) AS anon_1

-- statement: note_sets
-- Write the messages of sets, their numbers of parts, and how long their completion is remembered.
INSERT INTO duerow_set (queue, correlation, set_id, parts, closed_until) SELECT given.queue, given.correlation,
    given.set_id, given.parts, timestampadd(MICROSECOND, given.remember, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`queue`, given_rows.`correlation`, given_rows.`set_id`, given_rows.`parts`,
    given_rows.`remember`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', `set_id` BIGINT PATH '$[2]', `parts` BIGINT PATH '$[3]', `remember`
    BIGINT PATH '$[4]')) AS given_rows) AS given
WHERE 1 = 1 ON DUPLICATE KEY UPDATE set_id =
VALUES(set_id), parts =
VALUES(parts), closed_until =
VALUES(closed_until)

-- statement: parts
-- Read the parts of sets, unordered, because sorting can make a database read the parts of all sets.
SELECT STRAIGHT_JOIN duerow_part.set_id, duerow_part.part_id, duerow_part.content
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given INNER
JOIN duerow_part ON duerow_part.set_id = given.id

-- statement: prune_sets
-- Delete the rows of sets whose completion is no longer remembered.
SELECT duerow_set.queue, duerow_set.correlation, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_set
WHERE duerow_set.closed_until <= UTC_TIMESTAMP(6)
ORDER BY duerow_set.closed_until
LIMIT :limit_in
FOR UPDATE SKIP LOCKED;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_set
FROM (SELECT found_rows.`queue`, found_rows.`correlation`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS found_rows) AS found STRAIGHT_JOIN duerow_set ON
    duerow_set.queue = found.queue AND duerow_set.correlation = found.correlation

-- statement: standing_sets
-- Read the ids and tokens of sets' messages that still exist, and lock them if the database can.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token
FROM (SELECT given_rows.`id`, given_rows.`queue`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.queue = given.queue
FOR UPDATE
