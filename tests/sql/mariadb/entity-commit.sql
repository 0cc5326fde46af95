-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, (sms_message.sending_token + 1) - 1 AS anon_1, sms_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE sms_message FORCE INDEX (PRIMARY)
SET sms_message.sending_status = 'done', sms_message.sending_due_at = NULL, sms_message.sending_last_error = NULL,
    sms_message.sending_finished_at = CAST(:told AS DATETIME(6)), sms_message.sending_token =
    sms_message.sending_token + 1, sms_message.sending_leased_by = NULL, sms_message.sending_leased_until = NULL
WHERE sms_message.id IN :found
