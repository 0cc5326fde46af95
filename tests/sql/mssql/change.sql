-- statement: change-anew-due
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) %
    86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now), behind_at = NULL, status = 'new', attempts =
    0, last_attempt_at = NULL, last_error = NULL, token = duerow_message.token + 1, leased_by = NULL, leased_until =
    NULL
OUTPUT inserted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[due] AS [due],
    cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [due] DATETIME2(6) '$[2]', [delay] BIGINT '$[3]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AND duerow_message.status != 'done' AND (CAST(:even_if_leased AS BIT) = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)

-- statement: change-headers-payload
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = CASE WHEN (duerow_message.leased_until > @now) THEN @now ELSE duerow_message.due_at END, kind =
    given.kind, payload = given.payload, headers = given.headers, token = duerow_message.token + 1, leased_by = NULL,
    leased_until = NULL
OUTPUT inserted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[kind] COLLATE
    Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload], cell.[headers]
    COLLATE Latin1_General_100_BIN2 AS [headers]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [kind] NVARCHAR(MAX) '$[2]', [payload] NVARCHAR(MAX) '$[3]', [headers] NVARCHAR(MAX)
    '$[4]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AND duerow_message.status != 'done' AND (CAST(:even_if_leased AS BIT) = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)

-- statement: change-priority
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = CASE WHEN (duerow_message.leased_until > @now) THEN @now ELSE duerow_message.due_at END, priority =
    given.priority, token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[priority] AS [priority]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [priority] SMALLINT '$[2]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AND duerow_message.status != 'done' AND (CAST(:even_if_leased AS BIT) = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)

-- statement: change-stopped
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = NULL, behind_at = NULL, token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AND duerow_message.status != 'done' AND (CAST(:even_if_leased AS BIT) = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)

-- statement: changeable
-- Read the ids of the rows that `change` would change.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT duerow_message.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK) ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.status !=
    'done' AND (CAST(:even_if_leased AS BIT) = 1 OR duerow_message.leased_until IS NULL OR duerow_message.leased_until
    <= @now)

-- statement: purge
-- Delete some messages of a queue in any state, finding each kind by its own index; return their ids.
DELETE duerow_message
OUTPUT deleted.id
FROM (SELECT TOP (CAST(:limit_in AS INT)) [some].id AS id
FROM (SELECT anon_1.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.id <= CAST(:last_in AS BIGINT)) AS anon_1 UNION ALL
    SELECT anon_2.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.id <= CAST(:last_in AS BIGINT)) AS
    anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL AND duerow_message.id <= CAST(:last_in AS BIGINT)) AS anon_3) AS [some])
    AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = picked.id

-- statement: remove
-- Delete the given rows, leased ones only with `even_if_leased`; return their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND (CAST(:even_if_leased AS
    BIT) = 1 OR duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)

-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVE TRANSACTION duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
UPDATE duerow_message
SET due_at = NULL, behind_at = NULL, status = 'dead', last_error = given.error, token = CASE WHEN
    (duerow_message.token < 9223372036854775807) THEN duerow_message.token + 1 ELSE 0 END, leased_by = NULL,
    leased_until = NULL
OUTPUT inserted.id, inserted.[key], inserted.attempts, inserted.[group]
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[error] COLLATE Latin1_General_100_BIN2 AS
    [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [error] NVARCHAR(MAX) '$[1]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id

-- statement: to_savepoint
-- Undo everything since `savepoint`.
ROLLBACK TRANSACTION duerow_row
