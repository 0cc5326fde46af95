-- Read when the next row is due, of those due from the bound `floor` on; and the time. Rows have no
-- kinds.
SELECT (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= :floor) AS anon_1, UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`grouped`, given_rows.`priority`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`grouped` BIGINT PATH '$[0]', `priority` BIGINT PATH '$[1]')) AS given_rows)
    AS given
