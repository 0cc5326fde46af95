-- Give rows whose token matches their place in line and their attempt back; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.due_at = coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    duerow_message.attempts = duerow_message.attempts - 1, duerow_message.token = duerow_message.token + 1,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
