-- Note that a consumer of the given queues sleeps; written again only when the note is half over.
INSERT INTO duerow_waiting (queue, until) SELECT given.queue, statement_timestamp() + (:span::BIGINT * INTERVAL '1
    microsecond') AS anon_1
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS given(queue)
WHERE 1 = 1
ORDER BY given.queue
ON CONFLICT (queue) DO UPDATE
SET until = excluded.until
WHERE duerow_waiting.until < (statement_timestamp() + (:half::BIGINT * INTERVAL '1 microsecond'))
