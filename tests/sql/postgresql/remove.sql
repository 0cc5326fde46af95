-- Take the given rows away unless a lease on them runs and `even_if_leased` is false; return their
-- ids.
DELETE
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND (:even_if_leased OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= statement_timestamp()) AND duerow_message.id IN (SELECT given.id
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id))
RETURNING duerow_message.id
