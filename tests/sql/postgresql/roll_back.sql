-- Give rows whose token matches a new due time and an error; return their receipts.
UPDATE duerow_message
SET status='error', due_at=(statement_timestamp() + (given.delay * INTERVAL '1 microsecond')),
    token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL, last_error=coalesce(CAST(given.error AS
    JSON), duerow_message.last_error)
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS
    given(id, token, delay, error)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1
