-- As `lend`, but return no more than who was lent, the due time it had, and its group.
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
