-- Take some messages of a queue away, whatever they are, each kind by its own index; return their ids.
DELETE duerow_message
OUTPUT deleted.id
FROM (SELECT TOP (CAST(:limit_in AS INT)) [some].id AS id
FROM (SELECT anon_1.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.id <= CAST(:last_in AS BIGINT)) AS anon_1 UNION ALL
    SELECT anon_2.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.id <= CAST(:last_in AS BIGINT)) AS
    anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL AND duerow_message.id <= CAST(:last_in AS BIGINT)) AS anon_3) AS [some])
    AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = picked.id
