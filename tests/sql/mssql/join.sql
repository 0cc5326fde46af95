-- statement: delete_parts
-- Delete the parts of sets.
DELETE duerow_part
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[set_id] AS [set_id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([set_id] BIGINT '$[0]')
    AS cell) AS given
JOIN duerow_part WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_part.set_id = given.set_id

-- statement: forget_sets
-- Delete the rows of sets.
DELETE duerow_set
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_set.queue = given.queue AND duerow_set.correlation =
    given.correlation

-- statement: insert_parts
-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, given.content
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[set_id] AS [set_id], cell.[part_id] AS [part_id], cell.[content]
    COLLATE Latin1_General_100_BIN2 AS [content]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([set_id] BIGINT '$[0]',
    [part_id] BIGINT '$[1]', [content] NVARCHAR(MAX) '$[2]') AS cell) AS given

-- statement: lock_sets
-- Lock the rows of sets, and add missing ones; return the rows, and whether each set was complete
-- before.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_set
SET parts = duerow_set.parts
OUTPUT inserted.queue, inserted.correlation, inserted.set_id, inserted.parts, CASE WHEN inserted.closed_until > @now
    THEN 1 ELSE 0 END
FROM (SELECT given.queue AS queue, given.correlation AS correlation, 0 AS parts
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]') AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_set.queue = fresh.queue AND
    duerow_set.correlation = fresh.correlation; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_set
    (queue, correlation, parts)
OUTPUT inserted.queue, inserted.correlation, inserted.set_id, inserted.parts, CASE WHEN inserted.closed_until > @now
    THEN 1 ELSE 0 END SELECT fresh.queue, fresh.correlation, fresh.parts
FROM (SELECT given.queue AS queue, given.correlation AS correlation, 0 AS parts, row_number() OVER (ORDER BY
    given.queue, given.correlation) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_set AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.correlation = fresh.correlation)
ORDER BY fresh.line_number

-- statement: note_sets
-- Write the messages of sets, their numbers of parts, and how long their completion is remembered.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_set
SET set_id = fresh.set_id, parts = fresh.parts, closed_until = fresh.closed_until
FROM (SELECT given.queue AS queue, given.correlation AS correlation, given.set_id AS set_id, given.parts AS parts,
    dateadd(MICROSECOND, given.remember % 1000000, dateadd(SECOND, (given.remember / 1000000) % 86400, dateadd(DAY,
    (given.remember / 1000000) / 86400, @now))) AS closed_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation], cell.[set_id] AS [set_id],
    cell.[parts] AS [parts], cell.[remember] AS [remember]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]', [set_id] BIGINT '$[2]', [parts] INT '$[3]', [remember] BIGINT '$[4]')
    AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_set.queue = fresh.queue AND
    duerow_set.correlation = fresh.correlation; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_set
    (queue, correlation, set_id, parts, closed_until) SELECT fresh.queue, fresh.correlation, fresh.set_id,
    fresh.parts, fresh.closed_until
FROM (SELECT given.queue AS queue, given.correlation AS correlation, given.set_id AS set_id, given.parts AS parts,
    dateadd(MICROSECOND, given.remember % 1000000, dateadd(SECOND, (given.remember / 1000000) % 86400, dateadd(DAY,
    (given.remember / 1000000) / 86400, @now))) AS closed_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation], cell.[set_id] AS [set_id],
    cell.[parts] AS [parts], cell.[remember] AS [remember]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]', [set_id] BIGINT '$[2]', [parts] INT '$[3]', [remember] BIGINT '$[4]')
    AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_set AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.correlation = fresh.correlation)

-- statement: parts
-- Read the parts of sets, unordered, because sorting can make a database read the parts of all sets.
SELECT duerow_part.set_id, duerow_part.part_id, duerow_part.content
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_part WITH (FORCESEEK) ON duerow_part.set_id = given.id

-- statement: prune_sets
-- Delete the rows of sets whose completion is no longer remembered.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_set
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_set.queue AS queue, duerow_set.correlation AS correlation
FROM duerow_set WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_set.closed_until <= @now
ORDER BY duerow_set.closed_until) AS picked
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON duerow_set.queue = picked.queue AND
    duerow_set.correlation = picked.correlation AND duerow_set.closed_until <= @now

-- statement: standing_sets
-- Read the ids and tokens of sets' messages that still exist, and lock them if the database can.
SELECT duerow_message.id, duerow_message.token
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [queue]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [queue] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.queue =
    given.queue
