-- Let leases run until now + lease; return id, token and the new end of those whose token matches.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_message FORCE INDEX (PRIMARY)
SET duerow_message.due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))), duerow_message.leased_until
    = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE duerow_message.id IN :found
