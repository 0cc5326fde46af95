-- Take some rows of long ago away, those of lifetimes excepted; return their queues and numbers.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_counter
OUTPUT deleted.queue, deleted.done, deleted.failed, deleted.dead, deleted.moved
FROM (SELECT TOP (CAST(:limit_in AS INT)) old.queue AS queue, old.minute AS minute, old.process AS process
FROM duerow_counter AS old WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE old.minute < dateadd(MICROSECOND, CAST(:ago AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:ago AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:ago AS BIGINT) / 1000000) / 86400, @now))) AND old.process != CAST(N'' AS
    VARBINARY(8000))
ORDER BY old.minute) AS picked
JOIN duerow_counter WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON duerow_counter.queue = picked.queue AND
    duerow_counter.minute = picked.minute AND duerow_counter.process = picked.process
