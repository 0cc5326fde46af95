-- Read who keeps rows of groups back, each as id: one with a lower id, one that is lent; null: nobody.
SELECT duerow_message.id, CASE WHEN (duerow_message.leased_by IS NOT NULL) THEN 1 ELSE 0 END AS anon_1, (SELECT TOP
    (1) other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id) AS anon_2, (SELECT TOP (1) other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id) AS anon_3, (SELECT TOP (1) other.id
FROM duerow_message AS other WITH (ROWLOCK, REPEATABLEREAD, READPAST)
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id) AS anon_4, (SELECT TOP (1) other.id
FROM duerow_message AS other WITH (ROWLOCK, REPEATABLEREAD, READPAST)
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id) AS anon_5
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK) ON duerow_message.id = given.id
