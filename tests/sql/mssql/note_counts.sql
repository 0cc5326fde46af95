-- Keep what a process counted, in place of what it said of the same queues and minutes before.
UPDATE duerow_counter
SET done = fresh.done, failed = fresh.failed, dead = fresh.dead, moved = fresh.moved, waiting = fresh.waiting,
    handling = fresh.handling
FROM (SELECT given.queue AS queue, given.minute AS minute, given.process AS process, given.done AS done, given.failed
    AS failed, given.dead AS dead, given.moved AS moved, given.waiting AS waiting, given.handling AS handling
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[minute] AS [minute], CAST(CAST(cell.[process] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [process],
    cell.[done] AS [done], cell.[failed] AS [failed], cell.[dead] AS [dead], cell.[moved] AS [moved], cell.[waiting]
    COLLATE Latin1_General_100_BIN2 AS [waiting], cell.[handling] COLLATE Latin1_General_100_BIN2 AS [handling]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [minute] DATETIME2(6) '$[1]', [process] NVARCHAR(4000) '$[2]', [done] BIGINT '$[3]', [failed] BIGINT
    '$[4]', [dead] BIGINT '$[5]', [moved] BIGINT '$[6]', [waiting] NVARCHAR(MAX) '$[7]', [handling] NVARCHAR(MAX)
    '$[8]') AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_counter WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_counter.queue = fresh.queue AND
    duerow_counter.minute = fresh.minute AND duerow_counter.process = fresh.process; INSERT INTO duerow_counter
    (queue, minute, process, done, failed, dead, moved, waiting, handling) SELECT fresh.queue, fresh.minute,
    fresh.process, fresh.done, fresh.failed, fresh.dead, fresh.moved, fresh.waiting, fresh.handling
FROM (SELECT given.queue AS queue, given.minute AS minute, given.process AS process, given.done AS done, given.failed
    AS failed, given.dead AS dead, given.moved AS moved, given.waiting AS waiting, given.handling AS handling
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[minute] AS [minute], CAST(CAST(cell.[process] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [process],
    cell.[done] AS [done], cell.[failed] AS [failed], cell.[dead] AS [dead], cell.[moved] AS [moved], cell.[waiting]
    COLLATE Latin1_General_100_BIN2 AS [waiting], cell.[handling] COLLATE Latin1_General_100_BIN2 AS [handling]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [minute] DATETIME2(6) '$[1]', [process] NVARCHAR(4000) '$[2]', [done] BIGINT '$[3]', [failed] BIGINT
    '$[4]', [dead] BIGINT '$[5]', [moved] BIGINT '$[6]', [waiting] NVARCHAR(MAX) '$[7]', [handling] NVARCHAR(MAX)
    '$[8]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_counter AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.minute = fresh.minute AND held.process = fresh.process)
