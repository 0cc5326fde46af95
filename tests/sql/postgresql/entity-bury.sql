-- Stop rows whose token matches for good, with an error; return their receipts.
UPDATE sms_message
SET sending_status='dead', sending_due_at=NULL, sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL,
    sending_leased_until=NULL, sending_last_error=coalesce(CAST(given.error AS JSON), sms_message.sending_last_error),
    sending_finished_at=statement_timestamp()
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS given(id, token, error)
WHERE sms_message.id = given.id AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE false END AND
    CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token - 1 AS anon_1
