-- Keep the turns of rows that were picked and are about to be popped.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token + 1 AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts + 1 AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, duerow_message.due_at AS due_at, CAST(NULL AS VARBINARY(700)) AS moved_to, @now AS started_at, @now
    AS finished_at, NULL AS worker, NULL AS error, 'done' AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) /
    1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token + 1 AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts + 1 AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, duerow_message.due_at AS due_at, CAST(NULL AS VARBINARY(700)) AS moved_to, @now AS started_at, @now
    AS finished_at, NULL AS worker, NULL AS error, 'done' AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) /
    1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)
