-- Stop rows whose token matches for good, with an error; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id AND duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.status = 'dead', duerow_message.due_at = NULL, duerow_message.last_error = coalesce(given.error,
    duerow_message.last_error), duerow_message.token = duerow_message.token + 1, duerow_message.leased_by = NULL,
    duerow_message.leased_until = NULL
