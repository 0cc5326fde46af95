-- Read turns of many queues in the order of their ids and tokens: `queues`; with `descending`
-- downwards.
SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id, duerow_history.token, duerow_history.queue,
    duerow_history.[key], duerow_history.kind, duerow_history.payload AS payload, duerow_history.headers AS headers,
    duerow_history.[group], duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.id <= CAST(:last AS BIGINT) AND COALESCE(duerow_history.queue, CAST(N'' AS VARBINARY(8000))) IN
    (SELECT queues_listed.value
FROM (SELECT CAST(CAST([value] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [value]
FROM OPENJSON(CAST(:queues_value AS NVARCHAR(MAX)))) AS queues_listed) AND duerow_history.outcome = :param_1 AND (CASE
    WHEN ((SELECT TOP (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_2) AS member
WHERE (member.[key] + N'.') = :param_3) = 2 AND (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) NOT LIKE N'%[.eE]%') THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS BIGINT) END = CAST(:param_6 AS BIGINT) OR CASE WHEN ((SELECT TOP (1)
    member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_2) AS member
WHERE (member.[key] + N'.') = :param_3) = 2 AND ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) LIKE N'%[.eE]%' OR TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS BIGINT) IS NULL)) THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.payload, N']')) = 1) THEN concat(N'[',
    duerow_history.payload, N']') ELSE N'[]' END, :param_4) AS member
WHERE (member.[key] + N'.') = :param_5) AS DOUBLE PRECISION) END = CAST(:param_7 AS FLOAT)) AND ((CASE WHEN ((SELECT
    TOP (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.error, N']')) = 1) THEN concat(N'[', duerow_history.error,
    N']') ELSE N'[]' END, :param_8) AS member
WHERE (member.[key] + N'.') = :param_9) = 1) THEN (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_history.error, N']')) = 1) THEN concat(N'[', duerow_history.error,
    N']') ELSE N'[]' END, :param_10) AS member
WHERE (member.[key] + N'.') = :param_11) END + N'.') COLLATE Latin1_General_100_BIN2) LIKE :param_12 ESCAPE '\' AND
    (duerow_history.id > CAST(:after AS BIGINT) OR duerow_history.id = CAST(:after AS BIGINT) AND duerow_history.token
    > CAST(:after_token AS BIGINT))
ORDER BY duerow_history.id, duerow_history.token
