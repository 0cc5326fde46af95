-- Stop rows whose token matches for good, with an error; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, (sms_message.sending_token + 1) - 1 AS anon_1, sms_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS given_rows) AS given STRAIGHT_JOIN sms_message ON
    sms_message.id = given.id AND sms_message.sending_token = given.token AND sms_message.sending_due_at =
    sms_message.sending_leased_until AND (sms_message.id IN :found)
SET sms_message.sending_status = 'dead', sms_message.sending_due_at = NULL, sms_message.sending_last_error =
    coalesce(given.error, sms_message.sending_last_error), sms_message.sending_finished_at = CAST(:told AS
    DATETIME(6)), sms_message.sending_token = sms_message.sending_token + 1, sms_message.sending_leased_by = NULL,
    sms_message.sending_leased_until = NULL
