-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE shipment
OUTPUT deleted.tenant, deleted.number, deleted.sending_token
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(cell.[id_1] AS UNIQUEIDENTIFIER) AS [id_1], cell.[id_2] AS [id_2],
    cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id_1] NVARCHAR(4000)
    '$[0]', [id_2] INT '$[1]', [token] BIGINT '$[2]') AS cell) AS given
JOIN shipment WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND
    shipment.sending_token = given.token AND shipment.sending_due_at = shipment.sending_leased_until
