-- Read when the next row is due, of those due from the bound `floor` on; and the time. Rows have no
-- kinds.
SELECT (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= :floor) AS anon_1, :now AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS grouped, json_extract(given_rows.value, '$[1]') AS priority
FROM json_each(:given) AS given_rows) AS given
