-- Give held messages the content of a new push; a lease on them ends.
UPDATE duerow_message
SET kind=given.kind, payload=CAST(given.payload AS JSON), headers=CAST(given.headers AS JSON), "group"=given."group",
    priority=given.priority, status='new', due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL
    '1 microsecond'), statement_timestamp()), behind_at=NULL, first_due_at=coalesce(given.due, statement_timestamp() +
    (given.delay * INTERVAL '1 microsecond'), statement_timestamp()), attempts=0, token=(duerow_message.token + 1),
    leased_by=NULL, leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_headers::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]),
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS
    BIGINT[])) AS given(id, kind, payload, headers, "group", priority, due, delay)
WHERE duerow_message.id = given.id
