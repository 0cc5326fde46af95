-- Note some of what is said of a queue: whether it is `paused` or `draining`, its `definition`.
UPDATE duerow_queue
SET [definition] = fresh.[definition]
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, 0 AS paused, 0 AS draining,
    :definition_in AS [definition]) AS fresh
JOIN duerow_queue WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_queue.name = fresh.name; INSERT INTO
    duerow_queue (name, paused, draining, [definition]) SELECT fresh.name, fresh.paused, fresh.draining,
    fresh.[definition]
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, 0 AS paused, 0 AS draining,
    :definition_in AS [definition]) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_queue AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)
