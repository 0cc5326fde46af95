-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, given.content
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[set_id] AS [set_id], cell.[part_id] AS [part_id], cell.[content]
    COLLATE Latin1_General_100_BIN2 AS [content]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([set_id] BIGINT '$[0]',
    [part_id] BIGINT '$[1]', [content] NVARCHAR(MAX) '$[2]') AS cell) AS given
