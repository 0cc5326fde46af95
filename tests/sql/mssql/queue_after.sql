-- Read the name of the first queue after a name: the smallest of each kind of rows, by its own index.
SELECT (SELECT min(duerow_message.queue) AS min_1
FROM duerow_message
WHERE duerow_message.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL) AS anon_1, (SELECT min(duerow_message.queue) AS min_2
FROM duerow_message
WHERE duerow_message.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error')) AS anon_2, (SELECT min(duerow_message.queue) AS min_3
FROM duerow_message
WHERE duerow_message.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL) AS anon_3
