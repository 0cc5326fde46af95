-- Hold the given keys unless they are remembered, also by who commits at this moment; return those
-- held.
INSERT INTO duerow_remembered (queue, key, id, until) SELECT given.queue, given.key, given.id, :over::TIMESTAMP WITH
    TIME ZONE AS anon_1
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(queue, key, id)
WHERE 1 = 1
ORDER BY given.queue, given.key
ON CONFLICT (queue, key) DO UPDATE
SET id = excluded.id, until = excluded.until
WHERE duerow_remembered.until <= statement_timestamp()
RETURNING duerow_remembered.queue, duerow_remembered.key
