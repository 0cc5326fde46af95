-- Make held messages that nobody has due earlier, if the given time is; return whose time changed.
UPDATE duerow_message
SET due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), behind_at=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP
    WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS given(id, due, delay)
WHERE duerow_message.id = given.id AND duerow_message.leased_by IS NULL AND coalesce(duerow_message.due_at,
    duerow_message.behind_at) > coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp())
RETURNING duerow_message.id
