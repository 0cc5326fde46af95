-- statement: expired_keys
-- Lock expired keys, and read them.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_remembered.queue,
    duerow_remembered.[key]
FROM duerow_remembered WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_remembered.until <= @now
ORDER BY duerow_remembered.until

-- statement: expired_turns
-- Lock expired turns, and read their receipts.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id,
    duerow_history.token
FROM duerow_history WITH (ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_history.until <= @now
ORDER BY duerow_history.until

-- statement: forget_keys
-- Delete remembered keys; return the ids of their former holders.
DELETE duerow_remembered
OUTPUT deleted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_remembered WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_remembered.queue = given.queue AND
    duerow_remembered.[key] = given.[key]

-- statement: forget_turns
-- Delete turns; return their ids.
DELETE duerow_history
OUTPUT deleted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_history.id = given.id AND
    duerow_history.token = given.token

-- statement: history_rows
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id, duerow_history.token, duerow_history.queue,
    duerow_history.[key], duerow_history.kind, duerow_history.payload AS payload, duerow_history.headers AS headers,
    duerow_history.[group], duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_history.outcome =
    :param_1 AND (CASE WHEN ((SELECT TOP (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_2) AS member
WHERE (member.[key] + N'.') = :param_3) = 2 AND (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) NOT LIKE N'%[.eE]%') THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS BIGINT) END = CAST(:param_6 AS BIGINT) OR CASE WHEN ((SELECT TOP (1)
    member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_2) AS member
WHERE (member.[key] + N'.') = :param_3) = 2 AND ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) LIKE N'%[.eE]%' OR TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS BIGINT) IS NULL)) THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS DOUBLE PRECISION) END = CAST(:param_7 AS FLOAT)) AND ((CASE WHEN ((SELECT
    TOP (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.error, N']')) = 1) THEN concat(N'[', duerow_history.error,
    N']') ELSE N'[]' END, :param_8) AS member
WHERE (member.[key] + N'.') = :param_9) = 1) THEN (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.error, N']')) = 1) THEN concat(N'[', duerow_history.error,
    N']') ELSE N'[]' END, :param_10) AS member
WHERE (member.[key] + N'.') = :param_11) END + N'.') COLLATE Latin1_General_100_BIN2) LIKE :param_12 ESCAPE '\' AND
    (duerow_history.finished_at < CAST(:param_13 AS DATETIME2(6)) OR duerow_history.finished_at = CAST(:param_13 AS
    DATETIME2(6)) AND (duerow_history.id < CAST(:param_14 AS BIGINT) OR duerow_history.id = CAST(:param_14 AS BIGINT)
    AND duerow_history.token < CAST(:param_15 AS BIGINT)))
ORDER BY duerow_history.finished_at DESC, duerow_history.id DESC, duerow_history.token DESC

-- statement: history_rows-ends
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id, duerow_history.token, duerow_history.queue,
    duerow_history.[key], duerow_history.kind, duerow_history.payload AS payload, duerow_history.headers AS headers,
    duerow_history.[group], duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_history.id =
    CAST(:param_1 AS BIGINT) AND duerow_history.outcome != 'failed'
ORDER BY duerow_history.token

-- statement: hold_remembered
-- Hold the given keys unless they are remembered, even by a concurrent commit; return the keys held.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_remembered
SET id = fresh.id, until = fresh.until
OUTPUT inserted.queue, inserted.[key]
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.id AS id, CAST(:over AS DATETIME2(6)) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [id] BIGINT '$[2]') AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_remembered WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_remembered.queue = fresh.queue AND
    duerow_remembered.[key] = fresh.[key] AND duerow_remembered.until <= @now; INSERT INTO duerow_remembered (queue,
    [key], id, until)
OUTPUT inserted.queue, inserted.[key] SELECT fresh.queue, fresh.[key], fresh.id, fresh.until
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.id AS id, CAST(:over AS DATETIME2(6)) AS until,
    row_number() OVER (ORDER BY given.queue, given.[key]) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [id] BIGINT '$[2]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_remembered AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key])
ORDER BY fresh.line_number

-- statement: keep_lapsed
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS due_at, CAST(NULL AS
    VARBINARY(700)) AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at,
    duerow_message.leased_until AS finished_at, duerow_message.leased_by AS worker, concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') AS error, 'failed' AS outcome, dateadd(MICROSECOND, CAST(:history AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS
    BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.leased_until
    IS NOT NULL) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS due_at, CAST(NULL AS
    VARBINARY(700)) AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at,
    duerow_message.leased_until AS finished_at, duerow_message.leased_by AS worker, concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') AS error, 'failed' AS outcome, dateadd(MICROSECOND, CAST(:history AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS
    BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.leased_until
    IS NOT NULL) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)

-- statement: keep_lapsed-buries
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS due_at, CASE WHEN
    (duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN CAST(CAST(:to_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) END AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at,
    duerow_message.leased_until AS finished_at, duerow_message.leased_by AS worker, concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') AS error, CASE WHEN (duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE 'failed' END AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000,
    dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) /
    86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.leased_until
    IS NOT NULL) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS due_at, CASE WHEN
    (duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN CAST(CAST(:to_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) END AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at,
    duerow_message.leased_until AS finished_at, duerow_message.leased_by AS worker, concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') AS error, CASE WHEN (duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE 'failed' END AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000,
    dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) /
    86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.leased_until
    IS NOT NULL) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)

-- statement: keep_parts
-- Write turns of messages that become parts of sets, with their own headers.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], COALESCE(given.kind, duerow_message.kind) AS kind, COALESCE(given.payload,
    duerow_message.payload) AS payload, given.headers AS headers, duerow_message.[group] AS [group],
    duerow_message.priority AS priority, duerow_message.attempts AS attempts, duerow_message.created_at AS created_at,
    duerow_message.first_due_at AS first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS
    due_at, given.moved_to AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at, @now AS
    finished_at, duerow_message.leased_by AS worker, given.error AS error, given.outcome AS outcome,
    dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[outcome] COLLATE
    Latin1_General_100_BIN2 AS [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [moved_to], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2
    AS [payload], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error], cell.[headers] COLLATE
    Latin1_General_100_BIN2 AS [headers]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [outcome] NVARCHAR(MAX) '$[2]', [moved_to] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [error] NVARCHAR(MAX) '$[6]', [headers] NVARCHAR(MAX) '$[7]') AS cell) AS
    given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], COALESCE(given.kind, duerow_message.kind) AS kind, COALESCE(given.payload,
    duerow_message.payload) AS payload, given.headers AS headers, duerow_message.[group] AS [group],
    duerow_message.priority AS priority, duerow_message.attempts AS attempts, duerow_message.created_at AS created_at,
    duerow_message.first_due_at AS first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS
    due_at, given.moved_to AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at, @now AS
    finished_at, duerow_message.leased_by AS worker, given.error AS error, given.outcome AS outcome,
    dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[outcome] COLLATE
    Latin1_General_100_BIN2 AS [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [moved_to], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2
    AS [payload], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error], cell.[headers] COLLATE
    Latin1_General_100_BIN2 AS [headers]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [outcome] NVARCHAR(MAX) '$[2]', [moved_to] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [error] NVARCHAR(MAX) '$[6]', [headers] NVARCHAR(MAX) '$[7]') AS cell) AS
    given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)

-- statement: keep_popped
-- Write the turns of picked rows that are about to be popped.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token + 1 AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts + 1 AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, duerow_message.due_at AS due_at, CAST(NULL AS VARBINARY(700)) AS moved_to, @now AS started_at, @now
    AS finished_at, NULL AS worker, NULL AS error, 'done' AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) /
    1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token + 1 AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts + 1 AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, duerow_message.due_at AS due_at, CAST(NULL AS VARBINARY(700)) AS moved_to, @now AS started_at, @now
    AS finished_at, NULL AS worker, NULL AS error, 'done' AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) /
    1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)

-- statement: keep_turns
-- Write the ending turns of rows whose token matches, and lock the rows.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], COALESCE(given.kind, duerow_message.kind) AS kind, COALESCE(given.payload,
    duerow_message.payload) AS payload, duerow_message.headers AS headers, duerow_message.[group] AS [group],
    duerow_message.priority AS priority, duerow_message.attempts AS attempts, duerow_message.created_at AS created_at,
    duerow_message.first_due_at AS first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS
    due_at, given.moved_to AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at, @now AS
    finished_at, duerow_message.leased_by AS worker, given.error AS error, given.outcome AS outcome,
    dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[outcome] COLLATE
    Latin1_General_100_BIN2 AS [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [moved_to], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2
    AS [payload], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [outcome] NVARCHAR(MAX) '$[2]', [moved_to] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [error] NVARCHAR(MAX) '$[6]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], COALESCE(given.kind, duerow_message.kind) AS kind, COALESCE(given.payload,
    duerow_message.payload) AS payload, duerow_message.headers AS headers, duerow_message.[group] AS [group],
    duerow_message.priority AS priority, duerow_message.attempts AS attempts, duerow_message.created_at AS created_at,
    duerow_message.first_due_at AS first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS
    due_at, given.moved_to AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at, @now AS
    finished_at, duerow_message.leased_by AS worker, given.error AS error, given.outcome AS outcome,
    dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[outcome] COLLATE
    Latin1_General_100_BIN2 AS [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [moved_to], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2
    AS [payload], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [outcome] NVARCHAR(MAX) '$[2]', [moved_to] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [error] NVARCHAR(MAX) '$[6]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)

-- statement: remember
-- Remember the given keys of messages that have left.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_remembered
SET id = fresh.id, until = fresh.until
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.id AS id, dateadd(MICROSECOND, CAST(:keys AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000)
    / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [id] BIGINT '$[2]') AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_remembered WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_remembered.queue = fresh.queue AND
    duerow_remembered.[key] = fresh.[key]; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_remembered
    (queue, [key], id, until) SELECT fresh.queue, fresh.[key], fresh.id, fresh.until
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.id AS id, dateadd(MICROSECOND, CAST(:keys AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000)
    / 86400, @now))) AS until, row_number() OVER (ORDER BY given.queue, given.[key]) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [id] BIGINT '$[2]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_remembered AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key])
ORDER BY fresh.line_number

-- statement: remember_ended
-- Remember the keys of rows whose token matches and whose turn is ending, and lock the rows.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_remembered
SET id = fresh.id, until = fresh.until
FROM (SELECT duerow_message.queue AS queue, duerow_message.[key] AS [key], duerow_message.id AS id,
    dateadd(MICROSECOND, CAST(:keys AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token
WHERE duerow_message.[key] IS NOT NULL) AS fresh
JOIN duerow_remembered WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_remembered.queue = fresh.queue AND
    duerow_remembered.[key] = fresh.[key]; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_remembered
    (queue, [key], id, until) SELECT fresh.queue, fresh.[key], fresh.id, fresh.until
FROM (SELECT duerow_message.queue AS queue, duerow_message.[key] AS [key], duerow_message.id AS id,
    dateadd(MICROSECOND, CAST(:keys AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000) / 86400, @now))) AS until, row_number() OVER (ORDER BY
    duerow_message.queue, duerow_message.[key]) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token
WHERE duerow_message.[key] IS NOT NULL) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_remembered AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key])
ORDER BY fresh.line_number

-- statement: remembered
-- Read the former holders of the given keys, and whether they are still remembered.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT duerow_remembered.queue, duerow_remembered.[key],
    duerow_remembered.id, CASE WHEN (duerow_remembered.until > @now) THEN 1 ELSE 0 END AS still
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_remembered WITH (FORCESEEK) ON duerow_remembered.queue = given.queue AND duerow_remembered.[key] =
    given.[key]

-- statement: scan_history
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id, duerow_history.token, duerow_history.queue,
    duerow_history.[key], duerow_history.kind, duerow_history.payload AS payload, duerow_history.headers AS headers,
    duerow_history.[group], duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.id <= CAST(:last AS BIGINT) AND COALESCE(duerow_history.queue, CAST(N'' AS VARBINARY(8000))) IN
    (SELECT queues_listed.value
FROM (SELECT CAST(CAST([value] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [value]
FROM OPENJSON(CAST(:queues_value AS NVARCHAR(MAX)))) AS queues_listed) AND duerow_history.outcome = :param_1 AND (CASE
    WHEN ((SELECT TOP (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_2) AS member
WHERE (member.[key] + N'.') = :param_3) = 2 AND (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) NOT LIKE N'%[.eE]%') THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS BIGINT) END = CAST(:param_6 AS BIGINT) OR CASE WHEN ((SELECT TOP (1)
    member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_2) AS member
WHERE (member.[key] + N'.') = :param_3) = 2 AND ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) LIKE N'%[.eE]%' OR TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS BIGINT) IS NULL)) THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS DOUBLE PRECISION) END = CAST(:param_7 AS FLOAT)) AND ((CASE WHEN ((SELECT
    TOP (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.error, N']')) = 1) THEN concat(N'[', duerow_history.error,
    N']') ELSE N'[]' END, :param_8) AS member
WHERE (member.[key] + N'.') = :param_9) = 1) THEN (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.error, N']')) = 1) THEN concat(N'[', duerow_history.error,
    N']') ELSE N'[]' END, :param_10) AS member
WHERE (member.[key] + N'.') = :param_11) END + N'.') COLLATE Latin1_General_100_BIN2) LIKE :param_12 ESCAPE '\' AND
    (duerow_history.id > CAST(:after AS BIGINT) OR duerow_history.id = CAST(:after AS BIGINT) AND duerow_history.token
    > CAST(:after_token AS BIGINT))
ORDER BY duerow_history.id, duerow_history.token

-- statement: scan_history-descending
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id
FROM duerow_history
WHERE duerow_history.id <= CAST(:last AS BIGINT)
ORDER BY duerow_history.id DESC, duerow_history.token DESC
