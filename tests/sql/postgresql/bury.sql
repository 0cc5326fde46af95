-- Stop rows whose token matches for good, with an error; return their receipts.
UPDATE duerow_message
SET status='dead', due_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL,
    last_error=coalesce(CAST(given.error AS JSON), duerow_message.last_error)
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS given(id, token, error)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1
