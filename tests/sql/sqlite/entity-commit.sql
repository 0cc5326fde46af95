-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
UPDATE sms_message
SET sending_status='done', sending_due_at=NULL, sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL,
    sending_leased_until=NULL, sending_last_error=NULL, sending_finished_at=:now
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
WHERE sms_message.id = given.id AND sms_message.sending_token = given.token AND sms_message.sending_due_at =
    sms_message.sending_leased_until
RETURNING id, sending_token - 1 AS anon_1
