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
