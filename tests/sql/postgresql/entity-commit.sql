-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
UPDATE sms_message
SET sending_status='done', sending_due_at=NULL, sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL,
    sending_leased_until=NULL, sending_last_error=NULL, sending_finished_at=statement_timestamp()
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
WHERE sms_message.id = given.id AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE false END AND
    CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token - 1 AS anon_1
