-- Count a queue's rows by status: those in line, those behind others, those at rest, each by its own
-- index.
SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status,
    count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL GROUP BY duerow_message.status UNION ALL SELECT
    duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.status IN
    ('new', 'error') GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL GROUP BY duerow_message.status
