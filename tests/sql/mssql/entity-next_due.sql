-- Read when the next row is due, of those due from the bound `floor` on; and the time. Rows have no
-- kinds.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= CAST(:floor AS DATETIME2(6))) AS anon_1, @now AS anon_2
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[grouped] AS [grouped], cell.[priority] AS [priority]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([grouped] BIT '$[0]',
    [priority] SMALLINT '$[1]') AS cell) AS given
