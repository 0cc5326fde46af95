-- Lock the oldest names that were noted long ago, and read them.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_noted.name
FROM duerow_noted WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_noted.noted_at <= dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, @now)))
ORDER BY duerow_noted.noted_at
