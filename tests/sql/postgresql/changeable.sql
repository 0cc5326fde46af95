-- Read the ids of the rows that `change` would change.
SELECT duerow_message.id
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
JOIN duerow_message ON duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.status != 'done' AND (:even_if_leased OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= statement_timestamp())
