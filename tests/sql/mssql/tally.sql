-- Count rows of a queue of which a condition holds by a value of theirs, the first `limit_in` of them.
SELECT found.value, count(*) AS count_1
FROM (SELECT TOP (CAST(:limit_in AS INT)) ((CAST((SELECT TOP (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_1) AS member
WHERE (member.[key] + N'.') = :param_2) AS NVARCHAR(1)) + N':') + (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_3) AS member
WHERE (member.[key] + N'.') = :param_4)) + N'.' AS value
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND ((CASE WHEN ((SELECT TOP
    (1) member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_5) AS member
WHERE (member.[key] + N'.') = :param_6) = 2 AND (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_7) AS member
WHERE (member.[key] + N'.') = :param_8) NOT LIKE N'%[.eE]%') THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_7) AS member
WHERE (member.[key] + N'.') = :param_8) AS BIGINT) END = CAST(:param_9 AS BIGINT) OR CASE WHEN ((SELECT TOP (1)
    member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_5) AS member
WHERE (member.[key] + N'.') = :param_6) = 2 AND ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_7) AS member
WHERE (member.[key] + N'.') = :param_8) LIKE N'%[.eE]%' OR TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_7) AS member
WHERE (member.[key] + N'.') = :param_8) AS BIGINT) IS NULL)) THEN TRY_CAST ((SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.payload, N']')) = 1) THEN concat(N'[',
    duerow_message.payload, N']') ELSE N'[]' END, :param_7) AS member
WHERE (member.[key] + N'.') = :param_8) AS DOUBLE PRECISION) END = CAST(:param_10 AS FLOAT)) AND COALESCE(CASE WHEN
    duerow_message.attempts > CAST(:param_11 AS BIGINT) THEN 1 ELSE 0 END, 0) = 0 OR ((CASE WHEN ((SELECT TOP (1)
    member.type
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.headers, N']')) = 1) THEN concat(N'[',
    duerow_message.headers, N']') ELSE N'[]' END, :param_12) AS member
WHERE (member.[key] + N'.') = :param_13) = 1) THEN (SELECT TOP (1) member.value
FROM openjson(CASE WHEN (isjson(concat(N'[', duerow_message.headers, N']')) = 1) THEN concat(N'[',
    duerow_message.headers, N']') ELSE N'[]' END, :param_14) AS member
WHERE (member.[key] + N'.') = :param_15) END + N'.') COLLATE Latin1_General_100_BIN2) LIKE :param_16 ESCAPE '\' AND
    duerow_message.status IN (:param_17, :param_18))) AS found GROUP BY found.value
