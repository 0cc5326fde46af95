-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE shipment
SET sending_due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), sending_leased_until =
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.tenant, inserted.number, inserted.sending_token, inserted.sending_leased_until
FROM (SELECT shipment.tenant AS tenant, shipment.number AS number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(cell.[id_1] AS UNIQUEIDENTIFIER) AS [id_1], cell.[id_2] AS [id_2],
    cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id_1] NVARCHAR(4000)
    '$[0]', [id_2] INT '$[1]', [token] BIGINT '$[2]') AS cell) AS given
JOIN shipment WITH (FORCESEEK, ROWLOCK, UPDLOCK, READPAST) ON shipment.tenant = given.id_1 AND shipment.number =
    given.id_2 AND shipment.sending_token = given.token AND shipment.sending_due_at = shipment.sending_leased_until)
    AS picked
JOIN shipment WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON shipment.tenant = picked.tenant AND shipment.number =
    picked.number
