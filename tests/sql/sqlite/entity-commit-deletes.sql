-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM sms_message
WHERE sms_message.sending_due_at = sms_message.sending_leased_until AND (sms_message.id, sms_message.sending_token) IN
    (SELECT given.id, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, sending_token
