-- Lock keys whose time to be remembered is over, and read them.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_remembered.queue,
    duerow_remembered.[key]
FROM duerow_remembered WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_remembered.until <= @now
ORDER BY duerow_remembered.until
