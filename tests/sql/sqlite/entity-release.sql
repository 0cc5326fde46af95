-- Give rows whose token matches their place in line and their attempt back; return their receipts.
UPDATE sms_message
SET sending_due_at=coalesce(given.due, sms_message.sending_place_at, sms_message.sending_first_due_at),
    sending_attempts=(sms_message.sending_attempts - 1), sending_token=(sms_message.sending_token + 1),
    sending_leased_by=NULL, sending_leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS due
FROM json_each(:given) AS given_rows) AS given
WHERE sms_message.id = given.id AND sms_message.sending_token = given.token AND sms_message.sending_due_at =
    sms_message.sending_leased_until
RETURNING id, sending_token - 1 AS anon_1
