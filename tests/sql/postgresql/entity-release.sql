-- Give rows whose token matches their place in line and their attempt back; return their receipts.
UPDATE sms_message
SET sending_due_at=coalesce(given.due, sms_message.sending_place_at, sms_message.sending_first_due_at),
    sending_attempts=(sms_message.sending_attempts - 1), sending_token=(sms_message.sending_token + 1),
    sending_leased_by=NULL, sending_leased_until=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS given(id, token, due)
WHERE sms_message.id = given.id AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE false END AND
    CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token - 1 AS anon_1
