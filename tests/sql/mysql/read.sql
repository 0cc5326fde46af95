-- statement: blocker
-- Read the message of a group that holds back the given one: the leased one, or else the first.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id = coalesce((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in AND other.lent_group = :group_in AND other.id != :id_in
LIMIT 1), (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in AND other.live_group = :group_in AND other.id < :id_in
ORDER BY other.id
LIMIT 1))

-- statement: count
-- Count a queue's rows by status: rows in line, behind others and at rest, each kind by its own index.
SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 GROUP BY
    duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 GROUP BY
    duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL AND
    duerow_message.live_group IS NOT NULL GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status,
    count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1 GROUP BY duerow_message.status

-- statement: find-after_id-by_id
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.id > :after_id
ORDER BY duerow_message.id
LIMIT :limit_in

-- statement: find-by_id-keys-live
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_key IS NOT NULL AND (duerow_message.live_key IN
    :keys_value)
ORDER BY duerow_message.id + 0
LIMIT :limit_in

-- statement: find-ids-statuses
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND (duerow_message.id IN :ids_value) AND (duerow_message.status IN
    :statuses_value)
ORDER BY duerow_message.priority, coalesce(duerow_message.due_at, duerow_message.behind_at) IS NULL,
    coalesce(duerow_message.due_at, duerow_message.behind_at), duerow_message.id
LIMIT :limit_in

-- statement: out_of_line
-- Count the dead, stopped and waiting rows of a queue, which are in no line, each up to a limit.
SELECT (SELECT count(*) AS count_1
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1 AND (duerow_message.status NOT IN ('new',
    'error'))
LIMIT :limit_in) AS dead) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.stopped = 1
LIMIT :limit_in) AS stopped) AS anon_2, (SELECT count(*) AS count_3
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_group)
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL
LIMIT :limit_in) AS waiting) AS anon_3, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in), 1 = 0) AS coalesce_1, UTC_TIMESTAMP(6) AS anon_4

-- statement: peek
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in

-- statement: peek-grouped
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 1 AND nullif(least((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.live_group = duerow_message.`group`
ORDER BY other.id
LIMIT 1), duerow_message.id), duerow_message.id) IS NULL AND NOT (EXISTS (SELECT *
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.lent_group = duerow_message.`group` AND other.id !=
    duerow_message.id))
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in

-- statement: scan
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE (coalesce(duerow_message.queue, '') IN :queues_value) AND (coalesce(duerow_message.status, '') IN
    :statuses_value) AND ((CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) = 'INTEGER' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) = 'UNSIGNED INTEGER' AND
    CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_1)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1) AS SIGNED INTEGER) END = :param_2 OR
    CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_1)) = 'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) AS DECIMAL(20, 0)) <=
    9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) = 'DOUBLE' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) = 'UNSIGNED INTEGER') THEN
    CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1) AS
    DOUBLE) END = CAST(:param_3 AS DOUBLE)) AND coalesce(duerow_message.attempts > :param_4, false) = 0 OR (CASE WHEN
    (json_type(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers END, :param_5)) =
    'STRING') THEN json_unquote(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers
    END, :param_5)) END COLLATE utf8mb4_0900_bin) LIKE :param_6 ESCAPE '|' AND duerow_message.status IN (:param_7,
    :param_8)) AND duerow_message.id <= :last AND duerow_message.id > :after
ORDER BY duerow_message.id
LIMIT :limit_in

-- statement: scan-descending
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id <= :last
ORDER BY duerow_message.id DESC
LIMIT :limit_in

-- statement: search
-- Like `find`, with a condition and in any order; built for one use, with the condition's values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) = 'INTEGER' OR
    json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) =
    'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1) AS SIGNED INTEGER) END = :param_2 OR
    CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_1)) = 'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) AS DECIMAL(20, 0)) <=
    9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) = 'DOUBLE' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) = 'UNSIGNED INTEGER') THEN
    CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1) AS
    DOUBLE) END = CAST(:param_3 AS DOUBLE)) AND coalesce(duerow_message.attempts > :param_4, false) = 0 OR (CASE WHEN
    (json_type(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers END, :param_5)) =
    'STRING') THEN json_unquote(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers
    END, :param_5)) END COLLATE utf8mb4_0900_bin) LIKE :param_6 ESCAPE '|' AND duerow_message.status IN (:param_7,
    :param_8)) AND (duerow_message.priority < :param_9 AND duerow_message.id != :param_10 OR duerow_message.priority =
    :param_9 AND duerow_message.id < :param_10 OR duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC, duerow_message.id DESC
LIMIT :limit_in
FOR UPDATE OF duerow_message

-- statement: search-indexed
-- Like `find`, with a condition and in any order; built for one use, with the condition's values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.queue = 'mail' AND
    duerow_message.`duerow_by_00d8d3_companyid_cdd0da` = CAST(:param_1 AS DOUBLE) AND (CASE WHEN
    (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) =
    'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_2)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload)
    THEN duerow_message.payload END, :param_2)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE
    WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2) AS SIGNED INTEGER) END =
    :param_3 OR CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) = 'INTEGER' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'UNSIGNED INTEGER' AND
    CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_2)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'DOUBLE' OR
    json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) =
    'UNSIGNED INTEGER') THEN CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2) AS DOUBLE) END = CAST(:param_4 AS DOUBLE)) AND
    duerow_message.`duerow_by_00d8d3_to_city_01959a` <= :param_5 AND (CASE WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_6)) = 'STRING') THEN
    json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_6))
    END COLLATE utf8mb4_0900_bin) < :param_7
ORDER BY duerow_message.id ASC
LIMIT :limit_in

-- statement: tally
-- Count the first `limit_in` rows of a queue that match a condition, by a value.
SELECT found.value, count(*) AS count_1
FROM (SELECT CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)
    AS CHAR CHARACTER
SET utf8mb4) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'INTEGER' OR
    json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) =
    'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2) AS SIGNED INTEGER) END = :param_3 OR
    CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_2)) = 'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) AS DECIMAL(20, 0)) <=
    9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) = 'DOUBLE' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'UNSIGNED INTEGER') THEN
    CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2) AS
    DOUBLE) END = CAST(:param_4 AS DOUBLE)) AND coalesce(duerow_message.attempts > :param_5, false) = 0 OR (CASE WHEN
    (json_type(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers END, :param_6)) =
    'STRING') THEN json_unquote(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers
    END, :param_6)) END COLLATE utf8mb4_0900_bin) LIKE :param_7 ESCAPE '|' AND duerow_message.status IN (:param_8,
    :param_9))
LIMIT :limit_in) AS found GROUP BY found.value

-- statement: time
-- Read the time.
SELECT UTC_TIMESTAMP(6) AS anon_1
