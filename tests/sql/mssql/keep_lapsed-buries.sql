-- Keep the turns of rows that were picked whose lease ended unsettled: as failed, or dead if used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS due_at, CASE WHEN
    (duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN CAST(CAST(:to_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) END AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at,
    duerow_message.leased_until AS finished_at, duerow_message.leased_by AS worker, concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') AS error, CASE WHEN (duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE 'failed' END AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000,
    dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) /
    86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.leased_until
    IS NOT NULL) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], duerow_message.kind AS kind, duerow_message.payload AS payload,
    duerow_message.headers AS headers, duerow_message.[group] AS [group], duerow_message.priority AS priority,
    duerow_message.attempts AS attempts, duerow_message.created_at AS created_at, duerow_message.first_due_at AS
    first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS due_at, CASE WHEN
    (duerow_message.attempts >= CAST(:attempts_in AS INT)) THEN CAST(CAST(:to_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)) END AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at,
    duerow_message.leased_until AS finished_at, duerow_message.leased_by AS worker, concat('{"message":"',
    string_escape(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ', duerow_message.attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') AS error, CASE WHEN (duerow_message.attempts >= CAST(:attempts_in AS
    INT)) THEN 'dead' ELSE 'failed' END AS outcome, dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000,
    dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) /
    86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.leased_until
    IS NOT NULL) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)
