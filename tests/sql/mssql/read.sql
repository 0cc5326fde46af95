-- statement: blocker
-- Read the message of a group that holds back the given one: the leased one, or else the first.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority,
    duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id = COALESCE((SELECT TOP (1) other.id
FROM duerow_message AS other
WHERE other.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.[group] = CAST(CAST(:group_in
    AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.leased_by IS NOT NULL AND other.id != CAST(:id_in AS BIGINT)),
    (SELECT TOP (1) other.id
FROM duerow_message AS other
WHERE other.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.[group] = CAST(CAST(:group_in
    AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.status IN ('new', 'error') AND other.id < CAST(:id_in AS BIGINT)
ORDER BY other.id))

-- statement: count
-- Count a queue's rows by status: rows in line, behind others and at rest, each kind by its own index.
SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status,
    count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL GROUP BY duerow_message.status UNION ALL SELECT
    duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.status IN
    ('new', 'error') GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL GROUP BY duerow_message.status

-- statement: find-after_id-by_id
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.id >
    CAST(:after_id AS BIGINT)
ORDER BY duerow_message.id

-- statement: find-by_id-keys-live
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[key] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.[key] IN (SELECT keys_listed.value
FROM (SELECT CAST(CAST([value] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [value]
FROM OPENJSON(CAST(:keys_value AS NVARCHAR(MAX)))) AS keys_listed)
ORDER BY duerow_message.id + 0

-- statement: find-ids-statuses
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.id IN
    (SELECT ids_listed.value
FROM (SELECT CAST([value] AS BIGINT) AS [value]
FROM OPENJSON(CAST(:ids_value AS NVARCHAR(MAX)))) AS ids_listed) AND duerow_message.status IN (SELECT
    statuses_listed.value
FROM (SELECT [value] COLLATE Latin1_General_100_BIN2 AS [value]
FROM OPENJSON(CAST(:statuses_value AS NVARCHAR(MAX)))) AS statuses_listed)
ORDER BY duerow_message.priority, CASE WHEN (COALESCE(duerow_message.due_at, duerow_message.behind_at) IS NULL) THEN 1
    ELSE 0 END, COALESCE(duerow_message.due_at, duerow_message.behind_at), duerow_message.id

-- statement: out_of_line
-- Count the dead, stopped and waiting rows of a queue, which are in no line, each up to a limit.
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

-- statement: peek
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind, duerow_message.[key],
    duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority, duerow_message.status,
    COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1, duerow_message.first_due_at,
    duerow_message.attempts, duerow_message.token, duerow_message.leased_by, duerow_message.leased_until,
    duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL
ORDER BY duerow_message.due_at, duerow_message.id

-- statement: peek-grouped
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind, duerow_message.[key],
    duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority, duerow_message.status,
    COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1, duerow_message.first_due_at,
    duerow_message.attempts, duerow_message.token, duerow_message.leased_by, duerow_message.leased_until,
    duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NOT NULL AND NOT
    (EXISTS (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.status IN ('new',
    'error') AND other.id < duerow_message.id)) AND NOT (EXISTS (SELECT *
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id))
ORDER BY duerow_message.due_at, duerow_message.id

-- statement: scan
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE COALESCE(duerow_message.queue, CAST(N'' AS VARBINARY(8000))) IN (SELECT queues_listed.value
FROM (SELECT CAST(CAST([value] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [value]
FROM OPENJSON(CAST(:queues_value AS NVARCHAR(MAX)))) AS queues_listed) AND COALESCE(duerow_message.status, '') IN
    (SELECT statuses_listed.value
FROM (SELECT [value] COLLATE Latin1_General_100_BIN2 AS [value]
FROM OPENJSON(CAST(:statuses_value AS NVARCHAR(MAX)))) AS statuses_listed) AND ((CASE WHEN ((SELECT TOP (1)
    member.type
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
    duerow_message.status IN (:param_13, :param_14)) AND duerow_message.id <= CAST(:last AS BIGINT) AND
    duerow_message.id > CAST(:after AS BIGINT)
ORDER BY duerow_message.id

-- statement: scan-descending
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id
FROM duerow_message
WHERE duerow_message.id <= CAST(:last AS BIGINT)
ORDER BY duerow_message.id DESC

-- statement: search
-- Like `find`, with a condition and in any order; built for one use, with the condition's values.
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

-- statement: tally
-- Count the first `limit_in` rows of a queue that match a condition, by a value.
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

-- statement: time
-- Read the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT @now AS anon_1
