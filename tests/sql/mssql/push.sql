-- statement: hasten
-- Move the due time of unleased held messages forward to a given time; return the changed ones.
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

-- statement: insert_grouped
-- Like insert_keyless, if some rows are in groups; `behind`: another message of the group goes first.
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
-- Add messages without keys; return their ids, which follow the order given.
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
-- Add messages without keys; return their ids, which follow the order given.
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
-- Add messages with given ids; return the ids of those whose key was free. Locks in key order.
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

-- statement: next_ids
-- Return `count` new ids, ascending.
SELECT NEXT VALUE FOR [duerow_message_id] AS id
FROM OPENJSON('[0' + REPLICATE(CAST(',0' AS VARCHAR(MAX)), CAST(:count AS INT) - 1) + ']')

-- statement: replace
-- Give held messages the content of a new push; a lease on them ends.
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
