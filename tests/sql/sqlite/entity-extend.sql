-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until) UPDATE sms_message
SET sending_due_at=(:now + :lease), sending_leased_until=(:now + :lease)
FROM free
WHERE sms_message.id = free.id
RETURNING id, sending_token, sending_leased_until
