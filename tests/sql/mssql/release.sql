-- Give rows whose token matches their place in line and their attempt back; return their receipts.
UPDATE duerow_message
SET due_at = COALESCE(given.due, duerow_message.place_at, duerow_message.first_due_at), attempts =
    duerow_message.attempts - 1, token = duerow_message.token + 1, leased_by = NULL, leased_until = NULL
OUTPUT inserted.id, inserted.token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[due] AS [due]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [due] DATETIME2(6) '$[2]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token
