-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, [key], kind, payload, headers, [group], priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given.[key], given.kind, given.payload, given.headers,
    given.[group], given.priority, given.due, given.delay
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[staging_id] AS [staging_id], cell.[place] AS [place],
    CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [key], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE
    Latin1_General_100_BIN2 AS [payload], cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers],
    CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group], cell.[priority] AS [priority],
    cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([staging_id] BIGINT
    '$[0]', [place] INT '$[1]', [queue] NVARCHAR(4000) '$[2]', [key] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [headers] NVARCHAR(MAX) '$[6]', [group] NVARCHAR(4000) '$[7]', [priority]
    SMALLINT '$[8]', [due] DATETIME2(6) '$[9]', [delay] BIGINT '$[10]') AS cell) AS given
