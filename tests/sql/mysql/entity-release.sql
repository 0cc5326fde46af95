-- Give rows whose token matches their place in line and their attempt back; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, (sms_message.sending_token + 1) - 1 AS anon_1, sms_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`due`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN sms_message ON sms_message.id = given.id
    AND sms_message.sending_token = given.token AND sms_message.sending_due_at = sms_message.sending_leased_until AND
    (sms_message.id IN :found)
SET sms_message.sending_due_at = coalesce(given.due, sms_message.sending_place_at, sms_message.sending_first_due_at),
    sms_message.sending_attempts = sms_message.sending_attempts - 1, sms_message.sending_token =
    sms_message.sending_token + 1, sms_message.sending_leased_by = NULL, sms_message.sending_leased_until = NULL
