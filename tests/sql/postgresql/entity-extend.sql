-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
JOIN sms_message ON sms_message.id = given.id AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE
    false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
    FOR NO KEY UPDATE OF sms_message SKIP LOCKED) UPDATE sms_message
SET sending_due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')),
    sending_leased_until=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM free
WHERE sms_message.id = free.id
RETURNING sms_message.id, sms_message.sending_token, sms_message.sending_leased_until
