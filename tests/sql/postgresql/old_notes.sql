-- Lock the oldest names that were noted long ago, and read them.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= (statement_timestamp() + (:span::BIGINT * INTERVAL '1 microsecond'))
ORDER BY duerow_noted.noted_at
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED
