-- Read id, token and the end of the lease of the rows whose token and due time match.
SELECT sms_message.id, sms_message.sending_token, sms_message.sending_leased_until
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
