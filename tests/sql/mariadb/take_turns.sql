-- Mark rows of groups that are to be taken away as lent, so that nobody lends others of their groups.
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id
SET duerow_message.leased_by = 'taken away'
