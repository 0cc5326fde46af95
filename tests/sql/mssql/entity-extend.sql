-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), sending_leased_until =
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.id, inserted.sending_token, inserted.sending_leased_until
FROM (SELECT sms_message.id AS id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN sms_message WITH (FORCESEEK, ROWLOCK, UPDLOCK, READPAST) ON sms_message.id = given.id AND
    sms_message.sending_token = given.token AND sms_message.sending_due_at = sms_message.sending_leased_until) AS
    picked
JOIN sms_message WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON sms_message.id = picked.id
