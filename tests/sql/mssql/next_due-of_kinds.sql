-- Read when the next of each given line is due, of those due from the bound `floor` on; and the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT CASE WHEN given.grouped = 1 THEN (SELECT
    min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    given.priority AND duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= CAST(:floor AS
    DATETIME2(6)) AND duerow_message.[group] IS NOT NULL) ELSE (SELECT min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    given.priority AND duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= CAST(:floor AS
    DATETIME2(6)) AND duerow_message.[group] IS NULL) END AS anon_1, @now AS anon_2
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[grouped] AS [grouped], cell.[priority] AS [priority]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([grouped] BIT '$[0]',
    [priority] SMALLINT '$[1]') AS cell) AS given
