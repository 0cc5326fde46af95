-- Lock the oldest notes of what was staged too long ago, and read their numbers and how many entries
-- it is.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_staging.id,
    duerow_staging.entries
FROM duerow_staging WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_staging.staged_at <= dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, @now)))
ORDER BY duerow_staging.staged_at
