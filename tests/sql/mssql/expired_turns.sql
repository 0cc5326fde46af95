-- Lock turns whose time to be kept is over, and read their receipts.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id,
    duerow_history.token
FROM duerow_history WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_history.until <= @now
ORDER BY duerow_history.until
