-- As insert_keyless, for rows of which some are in groups; `behind`: another of its group goes before
-- it.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT given.queue, given.key, given.kind, CAST(given.payload AS JSON) AS
    payload, CAST(given.headers AS JSON) AS headers, given."group", given.priority, 'new', CASE WHEN given.behind THEN
    NULL ELSE coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) END AS anon_1, coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1
    microsecond'), statement_timestamp()) AS coalesce_1, 0, 0, statement_timestamp() AS statement_timestamp_1, CASE
    WHEN given.behind THEN coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) ELSE NULL END AS anon_2
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP
    WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_behind::VARCHAR AS
    TEXT) AS BOOLEAN[])) AS given(queue, key, kind, payload, headers, "group", priority, due, delay, behind)
RETURNING duerow_message.id
