-- Count the rows of a queue that are in no line, by what they wait for, each up to a number.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT (SELECT count(*) AS count_1
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL AND (duerow_message.status NOT IN ('new', 'error'))) AS dead) AS anon_1,
    (SELECT count(*) AS count_2
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL AND duerow_message.status != 'dead') AS stopped) AS anon_2, (SELECT
    count(*) AS count_3
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL) AS waiting) AS anon_3, COALESCE((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))), CASE WHEN 1 = 0 THEN 1 ELSE 0
    END) AS coalesce_1, @now AS anon_4
