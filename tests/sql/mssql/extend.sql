-- Let leases run until now + lease; return id, token and the new end of those whose token matches.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_message
SET due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000)
    % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), leased_until = dateadd(MICROSECOND,
    CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY,
    (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.id, inserted.token, inserted.leased_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.token = given.token
