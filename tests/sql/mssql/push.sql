-- statement: forget_notes
-- Delete names; return them.
DELETE duerow_noted
OUTPUT deleted.name
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[name] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [name]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([name] NVARCHAR(4000)
    '$[0]') AS cell) AS given
JOIN duerow_noted WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_noted.name = given.name

-- statement: forget_staged
-- Delete the entries of the given stagings.
DELETE duerow_staged
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[staging_id] AS [staging_id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([staging_id] BIGINT
    '$[0]') AS cell) AS given
JOIN duerow_staged WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_staged.staging_id = given.staging_id

-- statement: forget_stagings
-- Delete the given stagings.
DELETE duerow_staging
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_staging WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_staging.id = given.id

-- statement: hasten
-- Make unleased messages that hold a key due earlier, at a given time; return the changed ones.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) %
    86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now), behind_at = NULL
OUTPUT inserted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [due] DATETIME2(6) '$[1]', [delay] BIGINT '$[2]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.leased_by IS NULL AND COALESCE(duerow_message.due_at, duerow_message.behind_at) >
    COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400,
    dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now)

-- statement: holder_ids
-- Read the ids of the live messages that hold the given keys.
SELECT duerow_message.queue, duerow_message.[key], duerow_message.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK) ON duerow_message.queue = given.queue AND duerow_message.[key] = given.[key] AND
    duerow_message.[key] IS NOT NULL AND duerow_message.status IN ('new', 'error')

-- statement: holders
-- Read the live messages that hold the given keys, and lock them in order if the database can.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority,
    duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.queue = given.queue AND duerow_message.[key]
    = given.[key] AND duerow_message.[key] IS NOT NULL AND duerow_message.status IN ('new', 'error')

-- statement: insert_arrived
-- Add messages in their former state, with given ids; return the ids of messages whose key was free.
INSERT INTO duerow_message (id, queue, [key], kind, payload, headers, [group], priority, status, due_at, first_due_at,
    attempts, token, created_at, last_attempt_at, last_error)
OUTPUT inserted.id SELECT fresh.id, fresh.queue, fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group],
    fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at,
    fresh.last_attempt_at, fresh.last_error
FROM (SELECT given.id AS id, given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload,
    given.headers AS headers, given.[group] AS [group], given.priority AS priority, given.status AS status,
    given.due_at AS due_at, given.first_due_at AS first_due_at, given.attempts AS attempts, given.token AS token,
    given.created_at AS created_at, given.last_attempt_at AS last_attempt_at, given.last_error AS last_error,
    row_number() OVER (PARTITION BY given.queue, given.[key], CASE WHEN (given.[key] IS NOT NULL AND given.status IN
    ('new', 'error')) THEN 0 ELSE given.id END
ORDER BY given.queue, given.[key], given.id) AS copy_number, row_number() OVER (ORDER BY given.queue, given.[key],
    given.id) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[kind]
    COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload],
    cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [group], cell.[priority] AS [priority], cell.[status] COLLATE Latin1_General_100_BIN2 AS
    [status], cell.[due_at] AS [due_at], cell.[first_due_at] AS [first_due_at], cell.[attempts] AS [attempts],
    cell.[token] AS [token], cell.[created_at] AS [created_at], cell.[last_attempt_at] AS [last_attempt_at],
    cell.[last_error] COLLATE Latin1_General_100_BIN2 AS [last_error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [queue] NVARCHAR(4000) '$[1]', [key] NVARCHAR(4000) '$[2]', [kind] NVARCHAR(MAX) '$[3]', [payload] NVARCHAR(MAX)
    '$[4]', [headers] NVARCHAR(MAX) '$[5]', [group] NVARCHAR(4000) '$[6]', [priority] SMALLINT '$[7]', [status]
    NVARCHAR(MAX) '$[8]', [due_at] DATETIME2(6) '$[9]', [first_due_at] DATETIME2(6) '$[10]', [attempts] INT '$[11]',
    [token] BIGINT '$[12]', [created_at] DATETIME2(6) '$[13]', [last_attempt_at] DATETIME2(6) '$[14]', [last_error]
    NVARCHAR(MAX) '$[15]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE fresh.copy_number = 1 AND NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error'))
ORDER BY fresh.line_number

-- statement: insert_grouped
-- Like `insert_keyless`, with some rows in groups; `behind`: another message of the group goes first.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at, behind_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id] OVER (ORDER BY fresh.line_number) AS anon_1, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at,
    fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at, fresh.behind_at
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload, given.headers
    AS headers, given.[group] AS [group], given.priority AS priority, 'new' AS status, CASE WHEN given.behind = 1 THEN
    NULL ELSE COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000)
    % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now) END AS due_at, COALESCE(given.due,
    dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY,
    (given.delay / 1000000) / 86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at,
    CASE WHEN given.behind = 1 THEN COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND,
    (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now) ELSE NULL END AS
    behind_at, row_number() OVER (ORDER BY given.nth) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[kind] COLLATE Latin1_General_100_BIN2
    AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload], cell.[headers] COLLATE
    Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group],
    cell.[priority] AS [priority], cell.[due] AS [due], cell.[delay] AS [delay], cell.[behind] AS [behind]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [kind] NVARCHAR(MAX) '$[2]', [payload] NVARCHAR(MAX) '$[3]', [headers]
    NVARCHAR(MAX) '$[4]', [group] NVARCHAR(4000) '$[5]', [priority] SMALLINT '$[6]', [due] DATETIME2(6) '$[7]',
    [delay] BIGINT '$[8]', [behind] BIT '$[9]') AS cell) AS given) AS fresh

-- statement: insert_keyless
-- Add messages without keys; return their ids, which ascend in the order of the input.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id] OVER (ORDER BY fresh.line_number) AS anon_1, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at,
    fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload, given.headers
    AS headers, given.[group] AS [group], given.priority AS priority, 'new' AS status, COALESCE(given.due,
    dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY,
    (given.delay / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(given.due, dateadd(MICROSECOND, given.delay %
    1000000, dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))),
    @now) AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at, row_number() OVER (ORDER BY given.nth) AS
    line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[kind] COLLATE Latin1_General_100_BIN2
    AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload], cell.[headers] COLLATE
    Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group],
    cell.[priority] AS [priority], cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [kind] NVARCHAR(MAX) '$[2]', [payload] NVARCHAR(MAX) '$[3]', [headers]
    NVARCHAR(MAX) '$[4]', [group] NVARCHAR(4000) '$[5]', [priority] SMALLINT '$[6]', [due] DATETIME2(6) '$[7]',
    [delay] BIGINT '$[8]') AS cell) AS given) AS fresh

-- statement: insert_keyless-plain
-- Add messages without keys; return their ids, which ascend in the order of the input.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id] OVER (ORDER BY fresh.line_number) AS anon_1, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at,
    fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload, NULL AS
    headers, given.[group] AS [group], given.priority AS priority, 'new' AS status, @now AS due_at, @now AS
    first_due_at, 0 AS attempts, 0 AS token, @now AS created_at, row_number() OVER (ORDER BY given.nth) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload],
    CAST(CAST(:given_queue AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue], CAST(CAST(:given_key AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [key], :given_kind AS [kind], CAST(CAST(:given_group AS NVARCHAR(4000)) AS VARBINARY(8000))
    AS [group], CAST(:given_priority AS SMALLINT) AS [priority]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([payload] NVARCHAR(MAX)
    '$[0]') AS cell) AS given) AS fresh

-- statement: insert_many
-- Add messages with given ids, locking in key order; return the ids of messages whose key was free.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT fresh.id, fresh.queue, fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group],
    fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at
FROM (SELECT given.id AS id, given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload,
    given.headers AS headers, given.[group] AS [group], given.priority AS priority, 'new' AS status,
    COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400,
    dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(given.due, dateadd(MICROSECOND,
    given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) /
    86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at, row_number() OVER (ORDER BY
    given.queue, given.[key], given.id) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[kind]
    COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload],
    cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [group], cell.[priority] AS [priority], cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [queue] NVARCHAR(4000) '$[1]', [key] NVARCHAR(4000) '$[2]', [kind] NVARCHAR(MAX) '$[3]', [payload] NVARCHAR(MAX)
    '$[4]', [headers] NVARCHAR(MAX) '$[5]', [group] NVARCHAR(4000) '$[6]', [priority] SMALLINT '$[7]', [due]
    DATETIME2(6) '$[8]', [delay] BIGINT '$[9]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error'))
ORDER BY fresh.line_number

-- statement: insert_one
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id
VALUES (CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)), NULL, :kind_in, :payload_in, NULL, NULL, 0, 'new',
    @now, @now, 0, 0, @now)

-- statement: insert_one-asking
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id], fresh.queue, fresh.[key], fresh.kind, fresh.payload,
    fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts,
    fresh.token, fresh.created_at
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS queue, CAST(CAST(:key_in AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [key], CAST(:kind_in AS NVARCHAR(MAX)) AS kind, CAST(:payload_in AS NVARCHAR(MAX)) AS
    payload, NULL AS headers, CAST(NULL AS VARBINARY(700)) AS [group], 0 AS priority, 'new' AS status, @now AS due_at,
    @now AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at, row_number() OVER (PARTITION BY
    CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)), CAST(CAST(:key_in AS NVARCHAR(4000)) AS
    VARBINARY(8000))
ORDER BY (SELECT 1)) AS copy_number
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_queue.draining = 1)))
    AS fresh
WHERE (fresh.[key] IS NULL OR fresh.copy_number = 1 AND NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error')))

-- statement: insert_one-delay-due-headers-key
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id], fresh.queue, fresh.[key], fresh.kind, fresh.payload,
    fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts,
    fresh.token, fresh.created_at
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS queue, CAST(CAST(:key_in AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [key], :kind_in AS kind, :payload_in AS payload, :headers_in AS headers, CAST(NULL AS
    VARBINARY(700)) AS [group], 0 AS priority, 'new' AS status, COALESCE(CAST(:due_in AS DATETIME2(6)),
    dateadd(MICROSECOND, CAST(:delay_in AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:delay_in AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:delay_in AS BIGINT) / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(CAST(:due_in
    AS DATETIME2(6)), dateadd(MICROSECOND, CAST(:delay_in AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:delay_in AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:delay_in AS BIGINT) / 1000000) / 86400, @now))), @now) AS
    first_due_at, 0 AS attempts, 0 AS token, @now AS created_at) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error'))

-- statement: insert_turns
-- Add finished turns unchanged.
INSERT INTO duerow_history (id, token, queue, [key], kind, payload, headers, [group], priority, outcome, moved_to,
    attempts, created_at, first_due_at, due_at, started_at, finished_at, worker, error, until) SELECT given.id,
    given.token, given.queue, given.[key], given.kind, given.payload, given.headers, given.[group], given.priority,
    given.outcome, given.moved_to, given.attempts, given.created_at, given.first_due_at, given.due_at,
    given.started_at, given.finished_at, given.worker, given.error, given.until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], CAST(CAST(cell.[queue] AS
    NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [key], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS
    [payload], cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [group], cell.[priority] AS [priority], cell.[outcome] COLLATE Latin1_General_100_BIN2 AS
    [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [moved_to], cell.[attempts] AS
    [attempts], cell.[created_at] AS [created_at], cell.[first_due_at] AS [first_due_at], cell.[due_at] AS [due_at],
    cell.[started_at] AS [started_at], cell.[finished_at] AS [finished_at], cell.[worker] COLLATE
    Latin1_General_100_BIN2 AS [worker], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error], cell.[until] AS
    [until]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [queue] NVARCHAR(4000) '$[2]', [key] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX) '$[4]',
    [payload] NVARCHAR(MAX) '$[5]', [headers] NVARCHAR(MAX) '$[6]', [group] NVARCHAR(4000) '$[7]', [priority] SMALLINT
    '$[8]', [outcome] NVARCHAR(MAX) '$[9]', [moved_to] NVARCHAR(4000) '$[10]', [attempts] INT '$[11]', [created_at]
    DATETIME2(6) '$[12]', [first_due_at] DATETIME2(6) '$[13]', [due_at] DATETIME2(6) '$[14]', [started_at]
    DATETIME2(6) '$[15]', [finished_at] DATETIME2(6) '$[16]', [worker] NVARCHAR(MAX) '$[17]', [error] NVARCHAR(MAX)
    '$[18]', [until] DATETIME2(6) '$[19]') AS cell) AS given

-- statement: next_ids
-- Return `count` new ids, ascending.
SELECT NEXT VALUE FOR [duerow_message_id] AS id
FROM OPENJSON('[0' + REPLICATE(CAST(',0' AS VARCHAR(MAX)), CAST(:count AS INT) - 1) + ']')

-- statement: note
-- Note a name, and return it; return nothing if it is already noted, even by a concurrent commit.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_noted (name, noted_at)
OUTPUT inserted.name SELECT fresh.name, fresh.noted_at
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, @now AS noted_at) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_noted AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number of the staging.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines,
    due, staged_at)
OUTPUT inserted.id
VALUES (CAST(CAST(:batch_in AS NVARCHAR(4000)) AS VARBINARY(8000)), CAST(CAST(:part_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)), CAST(:entries_in AS INT), CAST(:keyed_in AS BIT), CAST(:grouped_in AS BIT), :lines_in,
    CAST(:due_in AS DATETIME2(6)), @now)

-- statement: noted_of
-- Read which of the given names are noted.
SELECT duerow_noted.name
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[name] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [name]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([name] NVARCHAR(4000)
    '$[0]') AS cell) AS given
JOIN duerow_noted WITH (FORCESEEK) ON duerow_noted.name = given.name

-- statement: old_notes
-- Lock and read the oldest names that were noted long ago.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_noted.name
FROM duerow_noted WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_noted.noted_at <= dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, @now)))
ORDER BY duerow_noted.noted_at

-- statement: old_stagings
-- Lock the oldest expired stagings, and read their numbers and how many entries they have.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_staging.id,
    duerow_staging.entries
FROM duerow_staging WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_staging.staged_at <= dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, @now)))
ORDER BY duerow_staging.staged_at

-- statement: publish
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
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
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
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
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
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

-- statement: replace
-- Give messages that hold a key the content of a new push, and end their leases.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET kind = given.kind, payload = given.payload, headers = given.headers, [group] = given.[group], priority =
    given.priority, status = 'new', due_at = COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000,
    dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now),
    behind_at = NULL, first_due_at = COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND,
    (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now), attempts = 0,
    last_attempt_at = NULL, last_error = NULL, token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind],
    cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload], cell.[headers] COLLATE Latin1_General_100_BIN2 AS
    [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group], cell.[priority] AS
    [priority], cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [kind] NVARCHAR(MAX) '$[1]', [payload] NVARCHAR(MAX) '$[2]', [headers] NVARCHAR(MAX) '$[3]', [group]
    NVARCHAR(4000) '$[4]', [priority] SMALLINT '$[5]', [due] DATETIME2(6) '$[6]', [delay] BIGINT '$[7]') AS cell) AS
    given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id

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
-- Read the entries of a staging in their order, starting at a place.
SELECT TOP (CAST(:limit_in AS INT)) duerow_staged.queue, duerow_staged.[key], duerow_staged.kind,
    duerow_staged.payload AS payload, duerow_staged.headers AS headers, duerow_staged.[group], duerow_staged.priority,
    duerow_staged.due, duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = CAST(:staging_in AS BIGINT) AND duerow_staged.place >= CAST(:place_in AS INT)
ORDER BY duerow_staged.place

-- statement: stagings
-- Read the stagings of a batch in order, and lock them against a concurrent publish or discard.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    duerow_staging.lines AS lines, duerow_staging.due
FROM duerow_staging WITH (ROWLOCK, UPDLOCK)
WHERE duerow_staging.batch = CAST(CAST(:batch_in AS NVARCHAR(4000)) AS VARBINARY(8000))
ORDER BY duerow_staging.id
