-- Give rows whose token matches their place in line and their attempt back; return their receipts.
UPDATE duerow_message
SET due_at=coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    attempts=(duerow_message.attempts - 1), token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS given(id, token, due)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1
