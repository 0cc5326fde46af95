-- statement: further_lines
-- Read the lowest priority in use in each given gap, in groups or not, and whether its queue is
-- paused.
SELECT given.queue, given.grouped, CASE WHEN given.grouped = 1 THEN (SELECT min(duerow_message.priority) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message.[group] IS NOT NULL) ELSE (SELECT
    min(duerow_message.priority) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message.[group] IS NULL) END AS anon_1,
    COALESCE((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = given.queue), CASE WHEN 1 = 0 THEN 1 ELSE 0 END) AS coalesce_1
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[grouped] AS [grouped], cell.[low] AS [low], cell.[high] AS [high]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [grouped] BIT '$[1]', [low] INT '$[2]', [high] INT '$[3]') AS cell) AS given

-- statement: lend
-- Lease picked rows, as `reserve` does; if two rows of a group are leased at once, the second lease
-- fails.
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
OUTPUT inserted.id, inserted.payload, inserted.kind, inserted.[key], inserted.headers, inserted.status,
    inserted.created_at, nullif(inserted.first_due_at, inserted.created_at), nullif(inserted.place_at,
    inserted.first_due_at), inserted.attempts, inserted.token, datediff_big(MICROSECOND, CAST('1970-01-01' AS
    DATETIME2(6)), dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))), inserted.last_error,
    inserted.priority, inserted.[group]
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id

-- statement: next_due
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT given.queue, CASE WHEN given.grouped = 1 THEN (SELECT
    min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    CAST(:floor AS DATETIME2(6)) AND duerow_message.[group] IS NOT NULL) ELSE (SELECT min(duerow_message.due_at) AS
    min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    CAST(:floor AS DATETIME2(6)) AND duerow_message.[group] IS NULL) END AS anon_1, @now AS anon_2
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[grouped] AS [grouped], cell.[priority] AS [priority]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [grouped] BIT '$[1]', [priority] SMALLINT '$[2]') AS cell) AS given

-- statement: next_due-of_kinds
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT given.queue, CASE WHEN given.grouped = 1 THEN (SELECT
    min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= CAST(:floor AS DATETIME2(6)) AND duerow_message.[group] IS
    NOT NULL) ELSE (SELECT min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= CAST(:floor AS DATETIME2(6)) AND duerow_message.[group] IS
    NULL) END AS anon_1, @now AS anon_2
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[grouped] AS [grouped], cell.[priority] AS [priority]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [grouped] BIT '$[1]', [priority] SMALLINT '$[2]') AS cell) AS given

-- statement: pick
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.due_at, duerow_message.[group]
FROM duerow_message WITH (INDEX(duerow_message_due), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id

-- statement: pick-grouped
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.due_at, duerow_message.[group]
FROM duerow_message WITH (INDEX(duerow_message_heads), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NOT NULL AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id

-- statement: pick-grouped-from_floor
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.due_at, duerow_message.[group]
FROM duerow_message WITH (INDEX(duerow_message_heads), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NOT NULL AND
    duerow_message.due_at >= CAST(:floor AS DATETIME2(6)) AND duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id

-- statement: pick-of_kinds
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.due_at, duerow_message.[group]
FROM duerow_message WITH (INDEX(duerow_message_heads), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NOT NULL AND
    duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id

-- statement: pop
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id, deleted.queue, deleted.payload, deleted.kind, deleted.[key], deleted.headers, deleted.[group],
    deleted.priority, deleted.status, COALESCE(deleted.due_at, deleted.behind_at), deleted.first_due_at,
    deleted.attempts, deleted.token, deleted.leased_by, deleted.leased_until, deleted.created_at,
    deleted.last_attempt_at, deleted.last_error, @now
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

-- statement: pop-from_floor
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id, deleted.queue, deleted.payload, deleted.kind, deleted.[key], deleted.headers, deleted.[group],
    deleted.priority, deleted.status, COALESCE(deleted.due_at, deleted.behind_at), deleted.first_due_at,
    deleted.attempts, deleted.token, deleted.leased_by, deleted.leased_until, deleted.created_at,
    deleted.last_attempt_at, deleted.last_error, @now
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

-- statement: pop-of_kinds
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id, deleted.queue, deleted.payload, deleted.kind, deleted.[key], deleted.headers, deleted.[group],
    deleted.priority, deleted.status, COALESCE(deleted.due_at, deleted.behind_at), deleted.first_due_at,
    deleted.attempts, deleted.token, deleted.leased_by, deleted.leased_until, deleted.created_at,
    deleted.last_attempt_at, deleted.last_error, @now
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

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
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
OUTPUT inserted.id, inserted.payload, inserted.kind, inserted.[key], inserted.headers, inserted.status,
    inserted.created_at, nullif(inserted.first_due_at, inserted.created_at), nullif(inserted.place_at,
    inserted.first_due_at), inserted.attempts, inserted.token, datediff_big(MICROSECOND, CAST('1970-01-01' AS
    DATETIME2(6)), dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))), inserted.last_error
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

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
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
OUTPUT inserted.id, inserted.payload, inserted.kind, inserted.[key], inserted.headers, inserted.status,
    inserted.created_at, nullif(inserted.first_due_at, inserted.created_at), nullif(inserted.place_at,
    inserted.first_due_at), inserted.attempts, inserted.token, datediff_big(MICROSECOND, CAST('1970-01-01' AS
    DATETIME2(6)), dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))), inserted.last_error
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

-- statement: reserve-of_kinds
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
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
OUTPUT inserted.id, inserted.payload, inserted.kind, inserted.[key], inserted.headers, inserted.status,
    inserted.created_at, nullif(inserted.first_due_at, inserted.created_at), nullif(inserted.place_at,
    inserted.first_due_at), inserted.attempts, inserted.token, datediff_big(MICROSECOND, CAST('1970-01-01' AS
    DATETIME2(6)), dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))), inserted.last_error
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

-- statement: take
-- Delete picked rows, as `pop` does.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id, deleted.queue, deleted.payload, deleted.kind, deleted.[key], deleted.headers, deleted.[group],
    deleted.priority, deleted.status, COALESCE(deleted.due_at, deleted.behind_at), deleted.first_due_at,
    deleted.attempts, deleted.token, deleted.leased_by, deleted.leased_until, deleted.created_at,
    deleted.last_attempt_at, deleted.last_error, @now
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id
