-- Take rows of sets away that were complete so long ago that it need not be known any more.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_set
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_set.queue AS queue, duerow_set.correlation AS correlation
FROM duerow_set WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_set.closed_until <= @now
ORDER BY duerow_set.closed_until) AS picked
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON duerow_set.queue = picked.queue AND
    duerow_set.correlation = picked.correlation AND duerow_set.closed_until <= @now
