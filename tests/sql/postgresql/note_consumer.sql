-- Note that a consumer is there now.
INSERT INTO duerow_consumer (name, about, seen_at)
VALUES (:name_in::VARCHAR, CAST(:about_in::VARCHAR AS JSON), statement_timestamp())
ON CONFLICT (name) DO UPDATE
SET about = excluded.about, seen_at = excluded.seen_at
