-- Read the lowest priority in use between the given ones, in groups or not; null: none. And if it is
-- paused.
SELECT given.grouped, CASE WHEN given.grouped = 1 THEN (SELECT min(duerow_message.priority) AS min_1
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority >
    given.low AND duerow_message.priority < given.high AND duerow_message.due_at IS NOT NULL AND
    duerow_message.[group] IS NOT NULL) ELSE (SELECT min(duerow_message.priority) AS min_2
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority >
    given.low AND duerow_message.priority < given.high AND duerow_message.due_at IS NOT NULL AND
    duerow_message.[group] IS NULL) END AS anon_1, COALESCE((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))), CASE WHEN 1 = 0 THEN 1 ELSE 0
    END) AS coalesce_1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[grouped] AS [grouped], cell.[low] AS [low], cell.[high] AS [high]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([grouped] BIT '$[0]',
    [low] INT '$[1]', [high] INT '$[2]') AS cell) AS given
