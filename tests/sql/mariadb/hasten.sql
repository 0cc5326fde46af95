-- Make held messages that nobody has due earlier, if the given time is; return whose time changed.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`due`, given_rows.`delay`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `due` DATETIME(6) PATH '$[1]', `delay` BIGINT PATH
    '$[2]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_by IS NULL AND
    coalesce(duerow_message.due_at, duerow_message.behind_at) > coalesce(given.due, timestampadd(MICROSECOND,
    given.delay, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6))
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`due`, given_rows.`delay`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `due` DATETIME(6) PATH '$[1]', `delay` BIGINT PATH
    '$[2]')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id AND
    duerow_message.leased_by IS NULL AND coalesce(duerow_message.due_at, duerow_message.behind_at) >
    coalesce(given.due, timestampadd(MICROSECOND, given.delay, CAST(:told AS DATETIME(6))), CAST(:told AS
    DATETIME(6))) AND (duerow_message.id IN :found)
SET duerow_message.due_at = coalesce(given.due, timestampadd(MICROSECOND, given.delay, CAST(:told AS DATETIME(6))),
    CAST(:told AS DATETIME(6))), duerow_message.behind_at = NULL
