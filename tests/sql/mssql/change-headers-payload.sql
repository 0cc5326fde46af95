-- Change rows whose token matches unless a lease on them runs and `even_if_leased` is false; return
-- their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = CASE WHEN (duerow_message.leased_until > @now) THEN @now ELSE duerow_message.due_at END, kind =
    given.kind, payload = given.payload, headers = given.headers, token = duerow_message.token + 1, leased_by = NULL,
    leased_until = NULL
OUTPUT inserted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[kind] COLLATE
    Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload], cell.[headers]
    COLLATE Latin1_General_100_BIN2 AS [headers]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [kind] NVARCHAR(MAX) '$[2]', [payload] NVARCHAR(MAX) '$[3]', [headers] NVARCHAR(MAX)
    '$[4]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AND duerow_message.status != 'done' AND (CAST(:even_if_leased AS BIT) = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)
