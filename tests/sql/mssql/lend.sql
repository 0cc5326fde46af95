-- statement: leased_range
-- Read the messages of a claim in a range of ids; the planner should use nothing but the range.
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
-- Read the rows of a queue whose token matches, as OUTLINE.
SELECT duerow_message.id, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))
