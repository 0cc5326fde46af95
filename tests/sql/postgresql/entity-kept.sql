-- Read id, token and the end of the lease of the rows whose token and due time match.
SELECT sms_message.id, sms_message.sending_token, sms_message.sending_leased_until
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
JOIN sms_message ON sms_message.id = given.id AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE
    false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
