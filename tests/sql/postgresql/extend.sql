-- Let leases run until now + lease; return id, token and the new end of those whose token matches.
UPDATE duerow_message
SET due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')), leased_until=(statement_timestamp()
    + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token, duerow_message.leased_until
