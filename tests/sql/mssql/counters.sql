-- statement: add_to_lifetimes
-- Add numbers to the lifetimes of their queues.
UPDATE duerow_counter
SET done = duerow_counter.done + fresh.done, failed = duerow_counter.failed + fresh.failed, dead = duerow_counter.dead
    + fresh.dead, moved = duerow_counter.moved + fresh.moved
FROM (SELECT given.queue AS queue, given.minute AS minute, given.process AS process, given.done AS done, given.failed
    AS failed, given.dead AS dead, given.moved AS moved
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[minute] AS [minute], CAST(CAST(cell.[process] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [process],
    cell.[done] AS [done], cell.[failed] AS [failed], cell.[dead] AS [dead], cell.[moved] AS [moved]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [minute] DATETIME2(6) '$[1]', [process] NVARCHAR(4000) '$[2]', [done] BIGINT '$[3]', [failed] BIGINT
    '$[4]', [dead] BIGINT '$[5]', [moved] BIGINT '$[6]') AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_counter WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_counter.queue = fresh.queue AND
    duerow_counter.minute = fresh.minute AND duerow_counter.process = fresh.process; INSERT INTO duerow_counter
    (queue, minute, process, done, failed, dead, moved) SELECT fresh.queue, fresh.minute, fresh.process, fresh.done,
    fresh.failed, fresh.dead, fresh.moved
FROM (SELECT given.queue AS queue, given.minute AS minute, given.process AS process, given.done AS done, given.failed
    AS failed, given.dead AS dead, given.moved AS moved, row_number() OVER (ORDER BY given.queue) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[minute] AS [minute], CAST(CAST(cell.[process] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [process],
    cell.[done] AS [done], cell.[failed] AS [failed], cell.[dead] AS [dead], cell.[moved] AS [moved]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [minute] DATETIME2(6) '$[1]', [process] NVARCHAR(4000) '$[2]', [done] BIGINT '$[3]', [failed] BIGINT
    '$[4]', [dead] BIGINT '$[5]', [moved] BIGINT '$[6]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_counter AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.minute = fresh.minute AND held.process = fresh.process)
ORDER BY fresh.line_number

-- statement: counters
-- Read the counters of a queue, and the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT duerow_counter.minute, duerow_counter.done,
    duerow_counter.failed, duerow_counter.dead, duerow_counter.moved, duerow_counter.waiting AS waiting,
    duerow_counter.handling AS handling, duerow_counter.process, @now AS anon_1
FROM duerow_counter
WHERE duerow_counter.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))

-- statement: forget_counts
-- Delete some old rows, except lifetimes; return their queues and numbers.
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

-- statement: note_counts
-- Write the counts of a process, replacing earlier ones for the same queues and minutes.
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
