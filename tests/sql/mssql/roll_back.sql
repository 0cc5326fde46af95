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
