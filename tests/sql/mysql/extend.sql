-- Let leases run until now + lease; return id, token and the new end of those whose token matches.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ duerow_message FORCE INDEX
    (PRIMARY)
SET duerow_message.due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))), duerow_message.leased_until
    = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE duerow_message.id IN :found
