-- As insert_keyless, for rows of which some are in groups; `behind`: another of its group goes before
-- it.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at, behind_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id] OVER (ORDER BY fresh.line_number) AS anon_1, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at,
    fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at, fresh.behind_at
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload, given.headers
    AS headers, given.[group] AS [group], given.priority AS priority, 'new' AS status, CASE WHEN given.behind = 1 THEN
    NULL ELSE COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000)
    % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now) END AS due_at, COALESCE(given.due,
    dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY,
    (given.delay / 1000000) / 86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at,
    CASE WHEN given.behind = 1 THEN COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND,
    (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now) ELSE NULL END AS
    behind_at, row_number() OVER (ORDER BY given.nth) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[kind] COLLATE Latin1_General_100_BIN2
    AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload], cell.[headers] COLLATE
    Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group],
    cell.[priority] AS [priority], cell.[due] AS [due], cell.[delay] AS [delay], cell.[behind] AS [behind]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [kind] NVARCHAR(MAX) '$[2]', [payload] NVARCHAR(MAX) '$[3]', [headers]
    NVARCHAR(MAX) '$[4]', [group] NVARCHAR(4000) '$[5]', [priority] SMALLINT '$[6]', [due] DATETIME2(6) '$[7]',
    [delay] BIGINT '$[8]', [behind] BIT '$[9]') AS cell) AS given) AS fresh
