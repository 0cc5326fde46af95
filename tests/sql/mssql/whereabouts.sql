-- Ask which database this is, told from all others on whatever servers.
SELECT DB_NAME() AS asked_0, CAST(SERVERPROPERTY('ServerName') AS NVARCHAR(256)) AS asked_1, CAST((SELECT
    service_broker_guid
FROM sys.databases
WHERE database_id = DB_ID()) AS NVARCHAR(36)) AS asked_2, object_id(:param_1, N'U') AS asked_3
