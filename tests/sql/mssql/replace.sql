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
