-- Change rows whose token matches unless a lease on them runs and `even_if_leased` is false; return
-- their ids.
UPDATE duerow_message
SET priority=given.priority, due_at=CASE WHEN (duerow_message.leased_until > statement_timestamp()) THEN
    statement_timestamp() ELSE duerow_message.due_at END, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS given(id, token, priority)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END AND
    duerow_message.queue = :queue_in::VARCHAR AND duerow_message.status != 'done' AND (:even_if_leased OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= statement_timestamp())
RETURNING duerow_message.id
