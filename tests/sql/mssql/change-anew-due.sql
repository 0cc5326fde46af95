-- Change rows whose token matches unless a lease on them runs and `even_if_leased` is false; return
-- their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) %
    86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now), behind_at = NULL, status = 'new', attempts =
    0, last_attempt_at = NULL, last_error = NULL, token = duerow_message.token + 1, leased_by = NULL, leased_until =
    NULL
OUTPUT inserted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[due] AS [due],
    cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [due] DATETIME2(6) '$[2]', [delay] BIGINT '$[3]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token AND duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AND duerow_message.status != 'done' AND (CAST(:even_if_leased AS BIT) = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)
