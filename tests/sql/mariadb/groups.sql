-- statement: blockers
-- Read the ids that hold back rows of groups: a row with a lower id, and a leased row; null if there
-- is none.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.leased_by IS NOT NULL AS anon_1, nullif(least((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.live_group = duerow_message.`group`
ORDER BY other.id
LIMIT 1), duerow_message.id), duerow_message.id) AS nullif_1, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.lent_group = duerow_message.`group` AND other.id !=
    duerow_message.id
LIMIT 1) AS anon_2, nullif(least((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.live_group = duerow_message.`group`
ORDER BY other.id
LIMIT 1 LOCK IN SHARE MODE SKIP LOCKED), duerow_message.id), duerow_message.id) AS nullif_2, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.lent_group = duerow_message.`group` AND other.id !=
    duerow_message.id
LIMIT 1 LOCK IN SHARE MODE SKIP LOCKED) AS anon_3
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id

-- statement: promote_next
-- Put the first unleased row of each given group in line; return the queues and due times.
SELECT STRAIGHT_JOIN duerow_message.queue, coalesce(duerow_message.behind_at, duerow_message.due_at) AS coalesce_1,
    duerow_message.id, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other.live_group = given.`group` AND other.leased_by IS NULL
ORDER BY other.id
LIMIT 1
FOR UPDATE) AS id
FROM (SELECT given_rows.`queue`, given_rows.`group`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS given_rows) AS given) AS first INNER
JOIN duerow_message ON duerow_message.id = first.id
WHERE duerow_message.leased_by IS NULL
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_message FORCE INDEX (PRIMARY)
SET duerow_message.due_at = coalesce(duerow_message.behind_at, duerow_message.due_at), duerow_message.behind_at = NULL
WHERE duerow_message.id IN :found

-- statement: promote_next-of_shared
-- Put the first unleased row of each given group in line; return the queues and due times.
SELECT STRAIGHT_JOIN duerow_message.queue, coalesce(duerow_message.behind_at, duerow_message.due_at) AS coalesce_1,
    duerow_message.id, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other.live_group = given.`group` AND other.leased_by IS NULL
ORDER BY other.id
LIMIT 1
FOR UPDATE) AS id
FROM (SELECT given_rows.`group`, CONVERT(:given_queue
USING utf8mb4) COLLATE utf8mb4_nopad_bin AS `queue`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS given_rows) AS given) AS first INNER
JOIN duerow_message ON duerow_message.id = first.id
WHERE duerow_message.leased_by IS NULL
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_message FORCE INDEX (PRIMARY)
SET duerow_message.due_at = coalesce(duerow_message.behind_at, duerow_message.due_at), duerow_message.behind_at = NULL
WHERE duerow_message.id IN :found

-- statement: put_behind
-- Take rows of groups out of line until it is their turn; this ends expired turns.
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id
SET duerow_message.due_at = NULL, duerow_message.behind_at = duerow_message.due_at, duerow_message.last_error = CASE
    WHEN (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, duerow_message.token =
    duerow_message.token + CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN 1 ELSE 0 END,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL

-- statement: take_turns
-- Mark rows of groups that are about to be popped as leased, so that no other row of the group is
-- leased.
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id
SET duerow_message.leased_by = 'taken away'
