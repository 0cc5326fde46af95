-- Take the given rows away unless a lease on them runs and `even_if_leased` is false; return their
-- ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id AND
    duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND (CAST(:even_if_leased AS
    BIT) = 1 OR duerow_message.leased_until IS NULL OR duerow_message.leased_until <= @now)
