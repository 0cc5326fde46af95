-- Read which of the given queues take no new messages.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]') AS cell) AS given) AND duerow_queue.draining = 1
