-- statement: is_large
-- Return whether any part of a queue has many messages.
SELECT CASE WHEN ((SELECT count(*) AS count_1
FROM (SELECT TOP (CAST(:param_1 AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.due_at IS NOT NULL) AS anon_2) > 10000 OR (SELECT
    count(*) AS count_2
FROM (SELECT TOP (CAST(:param_2 AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.due_at IS NOT NULL) AS anon_3) > 10000 OR
    (SELECT count(*) AS count_3
FROM (SELECT TOP (CAST(:param_3 AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL) AS anon_4) > 10000 OR (SELECT count(*) AS count_4
FROM (SELECT TOP (CAST(:param_4 AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL) AS anon_5) > 10000) THEN 1 ELSE 0 END AS anon_1

-- statement: near
-- Read as much of a page in the order of ids as lies within the table's next few ids; more rows may
-- follow.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.id >=
    (SELECT max(every.id) AS max_1
FROM duerow_message AS every) - 5000
ORDER BY duerow_message.id DESC

-- statement: near-after
-- Read as much of a page in the order of ids as lies within the table's next few ids; more rows may
-- follow.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.id >
    CAST(:param_1 AS BIGINT) AND duerow_message.id <= CAST(:param_2 AS BIGINT) AND duerow_message.attempts >
    CAST(:param_3 AS BIGINT)
ORDER BY duerow_message.id

-- statement: page
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority = CAST(:param_1 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority < CAST(:param_1 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.priority, CASE WHEN (duerow_message.due_at IS NULL) THEN 1 ELSE 0 END, duerow_message.due_at,
    duerow_message.id) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority > CAST(:param_1 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.priority, CASE WHEN (duerow_message.due_at IS NULL) THEN 1 ELSE 0 END, duerow_message.due_at,
    duerow_message.id) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.priority = CAST(:param_2 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.priority < CAST(:param_2 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.priority, CASE WHEN (duerow_message.due_at IS NULL) THEN 1 ELSE 0 END, duerow_message.due_at,
    duerow_message.id) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.priority > CAST(:param_2 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.priority, CASE WHEN (duerow_message.due_at IS NULL) THEN 1 ELSE 0 END, duerow_message.due_at,
    duerow_message.id) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL
ORDER BY duerow_message.priority, CASE WHEN (duerow_message.behind_at IS NULL) THEN 1 ELSE 0 END,
    duerow_message.behind_at, duerow_message.id) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL
ORDER BY duerow_message.priority, CASE WHEN (COALESCE(duerow_message.due_at, duerow_message.behind_at) IS NULL) THEN 1
    ELSE 0 END, COALESCE(duerow_message.due_at, duerow_message.behind_at), duerow_message.id) AS anon_8) AS parts)
ORDER BY duerow_message.priority, CASE WHEN (COALESCE(duerow_message.due_at, duerow_message.behind_at) IS NULL) THEN 1
    ELSE 0 END, COALESCE(duerow_message.due_at, duerow_message.behind_at), duerow_message.id

-- statement: page-due_at-after
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority = CAST(:param_1 AS SMALLINT) AND
    (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <= CAST(:param_4 AS DATETIME2(6))) AND
    (duerow_message.due_at < CAST(:param_5 AS DATETIME2(6)) AND duerow_message.id != CAST(:param_6 AS BIGINT) OR
    duerow_message.due_at = CAST(:param_5 AS DATETIME2(6)) AND duerow_message.id < CAST(:param_6 AS BIGINT) OR
    duerow_message.due_at IS NULL) AND duerow_message.due_at <= CAST(:param_7 AS DATETIME2(6)) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority < CAST(:param_1 AS SMALLINT) AND
    (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <= CAST(:param_4 AS DATETIME2(6))) AND
    (duerow_message.due_at < CAST(:param_8 AS DATETIME2(6)) AND duerow_message.id != CAST(:param_9 AS BIGINT) OR
    duerow_message.due_at = CAST(:param_8 AS DATETIME2(6)) AND duerow_message.id < CAST(:param_9 AS BIGINT) OR
    duerow_message.due_at IS NULL) AND duerow_message.due_at <= CAST(:param_10 AS DATETIME2(6)) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority > CAST(:param_1 AS SMALLINT) AND
    (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <= CAST(:param_4 AS DATETIME2(6))) AND
    (duerow_message.due_at < CAST(:param_11 AS DATETIME2(6)) AND duerow_message.id != CAST(:param_12 AS BIGINT) OR
    duerow_message.due_at = CAST(:param_11 AS DATETIME2(6)) AND duerow_message.id < CAST(:param_12 AS BIGINT) OR
    duerow_message.due_at IS NULL) AND duerow_message.due_at <= CAST(:param_13 AS DATETIME2(6)) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.priority = CAST(:param_14 AS SMALLINT) AND
    (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <= CAST(:param_4 AS DATETIME2(6))) AND
    (duerow_message.due_at < CAST(:param_15 AS DATETIME2(6)) AND duerow_message.id != CAST(:param_16 AS BIGINT) OR
    duerow_message.due_at = CAST(:param_15 AS DATETIME2(6)) AND duerow_message.id < CAST(:param_16 AS BIGINT) OR
    duerow_message.due_at IS NULL) AND duerow_message.due_at <= CAST(:param_17 AS DATETIME2(6)) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.priority < CAST(:param_14 AS SMALLINT) AND
    (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <= CAST(:param_4 AS DATETIME2(6))) AND
    (duerow_message.due_at < CAST(:param_18 AS DATETIME2(6)) AND duerow_message.id != CAST(:param_19 AS BIGINT) OR
    duerow_message.due_at = CAST(:param_18 AS DATETIME2(6)) AND duerow_message.id < CAST(:param_19 AS BIGINT) OR
    duerow_message.due_at IS NULL) AND duerow_message.due_at <= CAST(:param_20 AS DATETIME2(6)) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.priority > CAST(:param_14 AS SMALLINT) AND
    (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <= CAST(:param_4 AS DATETIME2(6))) AND
    (duerow_message.due_at < CAST(:param_21 AS DATETIME2(6)) AND duerow_message.id != CAST(:param_22 AS BIGINT) OR
    duerow_message.due_at = CAST(:param_21 AS DATETIME2(6)) AND duerow_message.id < CAST(:param_22 AS BIGINT) OR
    duerow_message.due_at IS NULL) AND duerow_message.due_at <= CAST(:param_23 AS DATETIME2(6)) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL AND (duerow_message.status IN (:param_24, :param_25) AND
    COALESCE(duerow_message.due_at, duerow_message.behind_at) <= CAST(:param_26 AS DATETIME2(6))) AND
    (duerow_message.behind_at < CAST(:param_27 AS DATETIME2(6)) AND duerow_message.id != CAST(:param_28 AS BIGINT) OR
    duerow_message.behind_at = CAST(:param_27 AS DATETIME2(6)) AND duerow_message.id < CAST(:param_28 AS BIGINT) OR
    duerow_message.behind_at IS NULL) AND duerow_message.behind_at <= CAST(:param_29 AS DATETIME2(6))
ORDER BY duerow_message.behind_at DESC, duerow_message.id DESC) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL AND duerow_message.status != 'dead' AND (duerow_message.status IN
    (:param_24, :param_25) AND COALESCE(duerow_message.due_at, duerow_message.behind_at) <= CAST(:param_26 AS
    DATETIME2(6)))
ORDER BY duerow_message.id + 0 DESC) AS anon_8) AS parts)
ORDER BY COALESCE(duerow_message.due_at, duerow_message.behind_at) DESC, duerow_message.id DESC

-- statement: page-id
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority = CAST(:param_1 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.id + 0 DESC) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority < CAST(:param_1 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.id + 0 DESC) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.priority > CAST(:param_1 AS SMALLINT) AND
    duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.id + 0 DESC) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.id + 0 DESC) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL
ORDER BY duerow_message.id + 0 DESC) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL
ORDER BY duerow_message.id DESC) AS anon_6) AS parts)
ORDER BY duerow_message.id DESC

-- statement: small
-- Read a page of a small queue: the indexes of its parts find all messages, and each one is checked.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL AND duerow_message.due_at IS NOT NULL UNION ALL SELECT
    duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_heads))
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NOT NULL AND duerow_message.due_at IS NOT NULL UNION ALL SELECT
    duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error') AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL UNION ALL SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL) AS parts) AND duerow_message.attempts > CAST(:param_1 AS BIGINT) AND
    duerow_message.id > CAST(:param_2 AS BIGINT)
ORDER BY duerow_message.id
