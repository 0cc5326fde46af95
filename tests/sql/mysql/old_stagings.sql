-- Lock the oldest notes of what was staged too long ago, and read their numbers and how many entries
-- it is.
SELECT duerow_staging.id, duerow_staging.entries
FROM duerow_staging
WHERE duerow_staging.staged_at <= timestampadd(MICROSECOND, :span, UTC_TIMESTAMP(6))
ORDER BY duerow_staging.staged_at
LIMIT :limit_in
FOR UPDATE SKIP LOCKED
