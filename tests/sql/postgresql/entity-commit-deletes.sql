-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM sms_message
USING unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS
    BIGINT[])) AS given(id, token)
WHERE CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END AND
    sms_message.id = given.id AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token
