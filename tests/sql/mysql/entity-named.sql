-- Read rows by their ids.
SELECT STRAIGHT_JOIN sms_message.id, 'sms_message.sending', 'null', 'json', NULL AS anon_1, NULL AS anon__1, NULL AS
    anon__2, 0, sms_message.sending_status, sms_message.sending_due_at, coalesce(sms_message.sending_first_due_at,
    sms_message.sending_due_at, sms_message.sending_place_at, UTC_TIMESTAMP(6)) AS coalesce_1,
    sms_message.sending_attempts, sms_message.sending_token, CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN sms_message.sending_leased_by END AS anon_2, CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until) THEN sms_message.sending_leased_until END AS
    anon_3, coalesce(sms_message.sending_first_due_at, sms_message.sending_due_at, sms_message.sending_place_at,
    UTC_TIMESTAMP(6)) AS coalesce__1, sms_message.sending_last_attempt_at, sms_message.sending_last_error
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id
