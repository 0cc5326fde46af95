-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVEPOINT duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.`key`, duerow_message.attempts, duerow_message.`group`,
    duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    duerow_message ON duerow_message.id = given.id AND (duerow_message.id IN :found)
SET duerow_message.due_at = NULL, duerow_message.behind_at = NULL, duerow_message.status = 'dead',
    duerow_message.last_error = given.error, duerow_message.token = CASE WHEN (duerow_message.token <
    9223372036854775807) THEN duerow_message.token + 1 ELSE 0 END, duerow_message.leased_by = NULL,
    duerow_message.leased_until = NULL

-- statement: to_savepoint
-- Undo what was done since `savepoint`.
ROLLBACK TO SAVEPOINT duerow_row
