-- Put the first of each given group into the line, if it is not; return the queues and due times.
SELECT STRAIGHT_JOIN duerow_message.queue, coalesce(duerow_message.behind_at, duerow_message.due_at) AS coalesce_1,
    duerow_message.id, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other.live_group = given.`group`
ORDER BY other.id
LIMIT 1) AS id
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
