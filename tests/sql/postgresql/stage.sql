-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, key, kind, payload, headers, "group", priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given.key, given.kind, CAST(given.payload AS JSON) AS payload,
    CAST(given.headers AS JSON) AS headers, given."group", given.priority, given.due, given.delay
FROM unnest(CAST(CAST(:given_staging_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_place::VARCHAR AS TEXT) AS
    INTEGER[]), CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS
    TEXT[]), CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS
    TEXT[]), CAST(CAST(:given_headers::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS
    TEXT[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS
    TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS given(staging_id, place,
    queue, key, kind, payload, headers, "group", priority, due, delay)
