-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
SELECT STRAIGHT_JOIN sms_message.id, sms_message.sending_token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, sms_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE SKIP LOCKED;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE sms_message FORCE INDEX (PRIMARY)
SET sms_message.sending_due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))),
    sms_message.sending_leased_until = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE sms_message.id IN :found
