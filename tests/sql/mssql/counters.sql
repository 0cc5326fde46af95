-- Read what was counted of a queue; and the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT duerow_counter.minute, duerow_counter.done,
    duerow_counter.failed, duerow_counter.dead, duerow_counter.moved, duerow_counter.waiting AS waiting,
    duerow_counter.handling AS handling, @now AS anon_1
FROM duerow_counter
WHERE duerow_counter.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))
