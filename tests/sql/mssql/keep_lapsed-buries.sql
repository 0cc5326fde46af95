-- Keep the turns of rows that were picked whose lease ended unsettled: as failed, or dead if used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id, token, queue, [key], kind, payload,
    headers, [group], priority, attempts, created_at, first_due_at, due_at, moved_to, started_at, finished_at, worker,
    error, outcome, until) SELECT duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.[key],
    duerow_message.kind, duerow_message.payload, duerow_message.headers, duerow_message.[group],
    duerow_message.priority, duerow_message.attempts, duerow_message.created_at, duerow_message.first_due_at,
    COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_1, CASE WHEN (duerow_message.attempts
    >= CAST(:attempts_in AS INT)) THEN CAST(CAST(:to_in AS NVARCHAR(4000)) AS VARBINARY(8000)) END AS anon_1,
    COALESCE(duerow_message.last_attempt_at, @now) AS coalesce_2, duerow_message.leased_until,
    duerow_message.leased_by, concat('{"message":"', string_escape(concat('was in hand when its worker died: lease of
    ', duerow_message.leased_by, ' ended at ', convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt
    ', duerow_message.attempts, ' of ', COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')),
    'json'), '","traceback":null,"type":"LeaseEnded"}') AS concat_1, CASE WHEN (duerow_message.attempts >=
    CAST(:attempts_in AS INT)) THEN 'dead' ELSE 'failed' END AS anon_2, dateadd(MICROSECOND, CAST(:history AS BIGINT)
    % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) /
    1000000) / 86400, @now))) AS dateadd_1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.leased_until
    IS NOT NULL
