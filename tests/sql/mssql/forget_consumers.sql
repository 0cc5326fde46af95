-- Forget the consumers not heard of for a day.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE
FROM duerow_consumer
WHERE dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, duerow_consumer.seen_at))) < @now
