-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE duerow_message
SET status = 'dead', due_at = NULL, last_error = COALESCE(given.error, duerow_message.last_error), token =
    duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id, inserted.token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[error] COLLATE
    Latin1_General_100_BIN2 AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [error] NVARCHAR(MAX) '$[2]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: bury-of_shared
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE duerow_message
SET status = 'dead', due_at = NULL, last_error = COALESCE(given.error, duerow_message.last_error), token =
    duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id, inserted.token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(:given_token AS BIGINT) AS [token], :given_error
    AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: commit
-- Delete the rows whose token matches; return their receipts.
DELETE duerow_message
OUTPUT deleted.id, deleted.token
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: commit-of_one
-- Delete the rows whose token matches; return their receipts.
DELETE duerow_message
OUTPUT deleted.id, deleted.token
FROM (SELECT 1 AS nth, CAST(:given_id AS BIGINT) AS [id], CAST(:given_token AS BIGINT) AS [token]) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: commit-of_shared
-- Delete the rows whose token matches; return their receipts.
DELETE duerow_message
OUTPUT deleted.id, deleted.token
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(:given_token AS BIGINT) AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: extend
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000)
    % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), leased_until = dateadd(MICROSECOND,
    CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY,
    (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.id, inserted.token, inserted.leased_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000)
    % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), leased_until = dateadd(MICROSECOND,
    CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY,
    (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.id, inserted.token, inserted.leased_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(:given_token AS BIGINT) AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: leased_range
-- Read the messages of a claim in a range of ids; the planner should use only the range.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id BETWEEN CAST(:first_in AS BIGINT) AND CAST(:last_in AS BIGINT) AND duerow_message.leased_by =
    :consumer AND duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))
ORDER BY duerow_message.id

-- statement: lend_picked_unread
-- Like `lend`, but return only receipts, former due times and groups.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE
    'done' END END, due_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND,
    (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))) END,
    place_at = duerow_message.due_at, attempts = duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END, token = duerow_message.token
    + 1, leased_by = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE :consumer END, leased_until = CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease
    AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, last_attempt_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN duerow_message.last_attempt_at ELSE @now END,
    last_error = CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END
OUTPUT inserted.id, inserted.token, inserted.status, inserted.place_at, inserted.[group]
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id

-- statement: lend_unread
-- Like `reserve`, but return only receipts, former due times and the floor.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE
    'done' END END, due_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND,
    (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))) END,
    place_at = duerow_message.due_at, attempts = duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END, token = duerow_message.token
    + 1, leased_by = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE :consumer END, leased_until = CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease
    AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, last_attempt_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN duerow_message.last_attempt_at ELSE @now END,
    last_error = CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END
OUTPUT inserted.id, inserted.token, inserted.status, inserted.place_at
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id) AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON duerow_message.id = picked.id AND
    duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.due_at IS NOT NULL

-- statement: lend_unread-from_floor
-- Like `reserve`, but return only receipts, former due times and the floor.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE
    'done' END END, due_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND,
    (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))) END,
    place_at = duerow_message.due_at, attempts = duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END, token = duerow_message.token
    + 1, leased_by = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE :consumer END, leased_until = CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease
    AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, last_attempt_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN duerow_message.last_attempt_at ELSE @now END,
    last_error = CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END
OUTPUT inserted.id, inserted.token, inserted.status, inserted.place_at
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.due_at >= CAST(:floor AS DATETIME2(6)) AND duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id) AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON duerow_message.id = picked.id AND
    duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.due_at >= CAST(:floor AS DATETIME2(6)) AND duerow_message.due_at IS NOT NULL

-- statement: lend_unread-of_kinds
-- Like `reserve`, but return only receipts, former due times and the floor.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE
    'done' END END, due_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND,
    (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))) END,
    place_at = duerow_message.due_at, attempts = duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END, token = duerow_message.token
    + 1, leased_by = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN NULL ELSE :consumer END, leased_until = CASE WHEN (duerow_message.leased_until IS
    NOT NULL AND duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease
    AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, last_attempt_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN duerow_message.last_attempt_at ELSE @now END,
    last_error = CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END
OUTPUT inserted.id, inserted.token, inserted.status, inserted.place_at
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id) AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON duerow_message.id = picked.id AND
    duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at IS NOT NULL

-- statement: message_headers
-- Read the rows of a queue whose token matches, with the columns of OUTLINE.
SELECT duerow_message.id, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))

-- statement: move
-- Send rows whose token matches to another queue; return their receipts.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET queue = given.queue, [key] = given.[key], kind = COALESCE(given.kind, duerow_message.kind), payload =
    COALESCE(given.payload, duerow_message.payload), headers = given.headers, [group] = given.[group], priority =
    given.priority, status = 'new', due_at = COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000,
    dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now),
    first_due_at = COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay /
    1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now), attempts = 0, last_attempt_at =
    NULL, last_error = NULL, token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id, inserted.token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], CAST(CAST(cell.[queue] AS
    NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [key], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS
    [payload], cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [group], cell.[priority] AS [priority], cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [queue] NVARCHAR(4000) '$[2]', [key] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX) '$[4]',
    [payload] NVARCHAR(MAX) '$[5]', [headers] NVARCHAR(MAX) '$[6]', [group] NVARCHAR(4000) '$[7]', [priority] SMALLINT
    '$[8]', [due] DATETIME2(6) '$[9]', [delay] BIGINT '$[10]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: owned
-- Read the rows whose token matches, and lock them if the database can.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority,
    duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token

-- statement: owned-of_shared
-- Read the rows whose token matches, and lock them if the database can.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority,
    duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(:given_token AS BIGINT) AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE duerow_message
SET due_at = COALESCE(given.due, duerow_message.place_at, duerow_message.first_due_at), attempts =
    duerow_message.attempts - 1, token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id, inserted.token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[due] AS [due]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [due] DATETIME2(6) '$[2]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: release-of_shared
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE duerow_message
SET due_at = COALESCE(given.due, duerow_message.place_at, duerow_message.first_due_at), attempts =
    duerow_message.attempts - 1, token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id, inserted.token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(:given_token AS BIGINT) AS [token],
    CAST(:given_due AS DATETIME2(6)) AS [due]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET status = 'error', due_at = dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) %
    86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), last_error = COALESCE(given.error,
    duerow_message.last_error), token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id, inserted.token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[delay] AS [delay],
    cell.[error] COLLATE Latin1_General_100_BIN2 AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [delay] BIGINT '$[2]', [error] NVARCHAR(MAX) '$[3]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token
