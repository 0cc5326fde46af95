-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message WITH (ROWLOCK, UPDLOCK)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND ((CASE WHEN ((SELECT TOP
    (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_1) AS member
WHERE (member.[key] + N'.') = :param_2) = 2 AND (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_3) AS member
WHERE (member.[key] + N'.') = :param_4) NOT LIKE N'%[.eE]%') THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_3) AS member
WHERE (member.[key] + N'.') = :param_4) AS BIGINT) END = CAST(:param_5 AS BIGINT) OR CASE WHEN ((SELECT TOP (1)
    member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_1) AS member
WHERE (member.[key] + N'.') = :param_2) = 2 AND ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_3) AS member
WHERE (member.[key] + N'.') = :param_4) LIKE N'%[.eE]%' OR TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_3) AS member
WHERE (member.[key] + N'.') = :param_4) AS BIGINT) IS NULL)) THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_3) AS member
WHERE (member.[key] + N'.') = :param_4) AS DOUBLE PRECISION) END = CAST(:param_6 AS FLOAT)) AND COALESCE(CASE WHEN
    duerow_message.attempts > CAST(:param_7 AS BIGINT) THEN 1 ELSE 0 END, 0) = 0 OR ((CASE WHEN ((SELECT TOP (1)
    member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.headers, N']')) = 1) THEN concat(N'[',
    duerow_message.headers, N']') ELSE N'[]' END, :param_8) AS member
WHERE (member.[key] + N'.') = :param_9) = 1) THEN (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.headers, N']')) = 1) THEN concat(N'[',
    duerow_message.headers, N']') ELSE N'[]' END, :param_10) AS member
WHERE (member.[key] + N'.') = :param_11) END + N'.') COLLATE Latin1_General_100_BIN2) LIKE :param_12 ESCAPE '\' AND
    duerow_message.status IN (:param_13, :param_14)) AND (duerow_message.priority < CAST(:param_15 AS BIGINT) AND
    duerow_message.id != CAST(:param_16 AS BIGINT) OR duerow_message.priority = CAST(:param_15 AS BIGINT) AND
    duerow_message.id < CAST(:param_16 AS BIGINT) OR duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC, duerow_message.id DESC
