-- As `reserve`, but return no more than who was lent, and the due time it had; and the floor.
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
