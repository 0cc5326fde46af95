-- statement: forget_notes
-- Take names away; return them.
DELETE duerow_noted
OUTPUT deleted.name
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[name] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [name]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([name] NVARCHAR(4000)
    '$[0]') AS cell) AS given
JOIN duerow_noted WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_noted.name = given.name

-- statement: forget_staged
-- Take away the entries that were staged under the given numbers.
DELETE duerow_staged
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[staging_id] AS [staging_id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([staging_id] BIGINT
    '$[0]') AS cell) AS given
JOIN duerow_staged WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_staged.staging_id = given.staging_id

-- statement: forget_stagings
-- Take away the notes of what was staged under the given numbers.
DELETE duerow_staging
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_staging WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_staging.id = given.id

-- statement: note
-- Note a name, and return it; nothing if it is noted already, also by who commits at this moment.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_noted (name, noted_at)
OUTPUT inserted.name SELECT fresh.name, fresh.noted_at
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, @now AS noted_at) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_noted AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number under which they are kept.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines,
    due, staged_at)
OUTPUT inserted.id
VALUES (CAST(CAST(:batch_in AS NVARCHAR(4000)) AS VARBINARY(8000)), CAST(CAST(:part_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)), CAST(:entries_in AS INT), CAST(:keyed_in AS BIT), CAST(:grouped_in AS BIT), :lines_in,
    CAST(:due_in AS DATETIME2(6)), @now)

-- statement: old_notes
-- Lock the oldest names that were noted long ago, and read them.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_noted.name
FROM duerow_noted WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_noted.noted_at <= dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, @now)))
ORDER BY duerow_noted.noted_at

-- statement: old_stagings
-- Lock the oldest notes of what was staged too long ago, and read their numbers and how many entries
-- it is.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_staging.id,
    duerow_staging.entries
FROM duerow_staging WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_staging.staged_at <= dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, @now)))
ORDER BY duerow_staging.staged_at

-- statement: publish
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at) SELECT NEXT VALUE FOR
    [duerow_message_id] OVER (ORDER BY fresh.line_number) AS anon_1, fresh.queue, fresh.[key], fresh.kind,
    fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at,
    fresh.attempts, fresh.token, fresh.created_at
FROM (SELECT duerow_staged.queue AS queue, duerow_staged.[key] AS [key], duerow_staged.kind AS kind,
    duerow_staged.payload AS payload, duerow_staged.headers AS headers, duerow_staged.[group] AS [group],
    duerow_staged.priority AS priority, 'new' AS status, COALESCE(duerow_staged.due, dateadd(MICROSECOND,
    duerow_staged.delay % 1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400, dateadd(DAY,
    (duerow_staged.delay / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(duerow_staged.due,
    dateadd(MICROSECOND, duerow_staged.delay % 1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400,
    dateadd(DAY, (duerow_staged.delay / 1000000) / 86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token,
    @now AS created_at, row_number() OVER (ORDER BY duerow_staged.place) AS line_number
FROM duerow_staged
WHERE duerow_staged.staging_id = CAST(:staging_in AS BIGINT)) AS fresh

-- statement: publish-grouped
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at, behind_at) SELECT NEXT VALUE FOR
    [duerow_message_id] OVER (ORDER BY fresh.line_number) AS anon_1, fresh.queue, fresh.[key], fresh.kind,
    fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at,
    fresh.attempts, fresh.token, fresh.created_at, fresh.behind_at
FROM (SELECT duerow_staged.queue AS queue, duerow_staged.[key] AS [key], duerow_staged.kind AS kind,
    duerow_staged.payload AS payload, duerow_staged.headers AS headers, duerow_staged.[group] AS [group],
    duerow_staged.priority AS priority, 'new' AS status, CASE WHEN (duerow_staged.[group] IS NOT NULL AND row_number()
    OVER (PARTITION BY duerow_staged.queue, duerow_staged.[group]
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE COALESCE(duerow_staged.due, dateadd(MICROSECOND, duerow_staged.delay
    % 1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400, dateadd(DAY, (duerow_staged.delay / 1000000) /
    86400, @now))), @now) END AS due_at, COALESCE(duerow_staged.due, dateadd(MICROSECOND, duerow_staged.delay %
    1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400, dateadd(DAY, (duerow_staged.delay / 1000000) /
    86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at, CASE WHEN
    (duerow_staged.[group] IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged.[group]
ORDER BY duerow_staged.place) > 1) THEN COALESCE(duerow_staged.due, dateadd(MICROSECOND, duerow_staged.delay %
    1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400, dateadd(DAY, (duerow_staged.delay / 1000000) /
    86400, @now))), @now) ELSE NULL END AS behind_at, row_number() OVER (ORDER BY duerow_staged.place) AS line_number
FROM duerow_staged
WHERE duerow_staged.staging_id = CAST(:staging_in AS BIGINT)) AS fresh

-- statement: publish-keyed
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at) SELECT NEXT VALUE FOR
    [duerow_message_id] OVER (ORDER BY fresh.line_number), fresh.queue, fresh.[key], fresh.kind, fresh.payload,
    fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts,
    fresh.token, fresh.created_at
FROM (SELECT duerow_staged.queue AS queue, duerow_staged.[key] AS [key], duerow_staged.kind AS kind,
    duerow_staged.payload AS payload, duerow_staged.headers AS headers, duerow_staged.[group] AS [group],
    duerow_staged.priority AS priority, 'new' AS status, COALESCE(duerow_staged.due, dateadd(MICROSECOND,
    duerow_staged.delay % 1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400, dateadd(DAY,
    (duerow_staged.delay / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(duerow_staged.due,
    dateadd(MICROSECOND, duerow_staged.delay % 1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400,
    dateadd(DAY, (duerow_staged.delay / 1000000) / 86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token,
    @now AS created_at, row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged.[key]
ORDER BY duerow_staged.place) AS copy_number, row_number() OVER (ORDER BY duerow_staged.place) AS line_number
FROM duerow_staged
WHERE duerow_staged.staging_id = CAST(:staging_in AS BIGINT)) AS fresh
WHERE (fresh.[key] IS NULL OR fresh.copy_number = 1 AND NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error')))

-- statement: stage
-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, [key], kind, payload, headers, [group], priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given.[key], given.kind, given.payload, given.headers,
    given.[group], given.priority, given.due, given.delay
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[staging_id] AS [staging_id], cell.[place] AS [place],
    CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [key], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE
    Latin1_General_100_BIN2 AS [payload], cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers],
    CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group], cell.[priority] AS [priority],
    cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([staging_id] BIGINT
    '$[0]', [place] INT '$[1]', [queue] NVARCHAR(4000) '$[2]', [key] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [headers] NVARCHAR(MAX) '$[6]', [group] NVARCHAR(4000) '$[7]', [priority]
    SMALLINT '$[8]', [due] DATETIME2(6) '$[9]', [delay] BIGINT '$[10]') AS cell) AS given

-- statement: staged
-- Read entries that were staged under a number, from a place on, in their order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_staged.queue, duerow_staged.[key], duerow_staged.kind,
    duerow_staged.payload AS payload, duerow_staged.headers AS headers, duerow_staged.[group], duerow_staged.priority,
    duerow_staged.due, duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = CAST(:staging_in AS BIGINT) AND duerow_staged.place >= CAST(:place_in AS INT)
ORDER BY duerow_staged.place

-- statement: stagings
-- Read what a batch has staged, in the order in which it was, locked against who publishes or discards
-- it.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    duerow_staging.lines AS lines, duerow_staging.due
FROM duerow_staging WITH (ROWLOCK, UPDLOCK)
WHERE duerow_staging.batch = CAST(CAST(:batch_in AS NVARCHAR(4000)) AS VARBINARY(8000))
ORDER BY duerow_staging.id
