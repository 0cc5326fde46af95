-- Keep turns that are about to end: of the rows whose token matches, which are locked until they have.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id, token, queue, [key], kind, payload,
    headers, [group], priority, attempts, created_at, first_due_at, due_at, moved_to, started_at, finished_at, worker,
    error, outcome, until) SELECT duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.[key],
    COALESCE(given.kind, duerow_message.kind) AS coalesce_1, COALESCE(given.payload, duerow_message.payload) AS
    coalesce_2, duerow_message.headers, duerow_message.[group], duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, COALESCE(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_3, given.moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS
    coalesce_4, @now AS anon_1, duerow_message.leased_by, given.error, given.outcome, dateadd(MICROSECOND,
    CAST(:history AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY,
    (CAST(:history AS BIGINT) / 1000000) / 86400, @now))) AS dateadd_1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[outcome] COLLATE
    Latin1_General_100_BIN2 AS [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [moved_to], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2
    AS [payload], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [outcome] NVARCHAR(MAX) '$[2]', [moved_to] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [error] NVARCHAR(MAX) '$[6]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token
