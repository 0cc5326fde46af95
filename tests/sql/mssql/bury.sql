-- Stop rows whose token matches for good, with an error; return their receipts.
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
