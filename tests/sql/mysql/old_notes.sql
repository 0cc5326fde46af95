-- Lock the oldest names that were noted long ago, and read them.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= timestampadd(MICROSECOND, :span, UTC_TIMESTAMP(6))
ORDER BY duerow_noted.noted_at
LIMIT :limit_in
FOR UPDATE SKIP LOCKED
