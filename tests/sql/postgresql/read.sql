-- statement: blocker
-- Read the message of a group that holds back the given one: the leased one, or else the first.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id = coalesce((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in::VARCHAR AND other."group" = :group_in::VARCHAR AND other.leased_by IS NOT NULL AND
    other.id != :id_in::BIGINT
LIMIT 1), (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in::VARCHAR AND other."group" >= :group_in::VARCHAR AND other."group" <= :group_in::VARCHAR
    AND other.status IN ('new', 'error') AND other.id < :id_in::BIGINT
ORDER BY other."group", other.id
LIMIT 1))

-- statement: count
-- Count a queue's rows by status: rows in line, behind others and at rest, each kind by its own index.
SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT
    NULL AND duerow_message."group" IS NOT NULL AND duerow_message.status IN ('new', 'error') GROUP BY
    duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    GROUP BY duerow_message.status

-- statement: find-after_id-by_id
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.id > :after_id::BIGINT
ORDER BY duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: find-by_id-keys-live
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.key IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.key = ANY (CAST(CAST(:keys_value::VARCHAR AS TEXT) AS TEXT[]))
ORDER BY duerow_message.id + 0
LIMIT :limit_in::INTEGER

-- statement: find-ids-statuses
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.id = ANY (CAST(CAST(:ids_value::VARCHAR AS TEXT) AS
    BIGINT[])) AND duerow_message.status = ANY (CAST(CAST(:statuses_value::VARCHAR AS TEXT) AS TEXT[]))
ORDER BY duerow_message.priority, coalesce(duerow_message.due_at, duerow_message.behind_at) ASC NULLS LAST,
    duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: out_of_line
-- Count the dead, stopped and waiting rows of a queue, which are in no line, each up to a limit.
SELECT (SELECT count(*) AS count_1
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    AND (duerow_message.status NOT IN ('new', 'error'))
LIMIT :limit_in::INTEGER) AS dead) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    AND duerow_message.status != 'dead'
LIMIT :limit_in::INTEGER) AS stopped) AS anon_2, (SELECT count(*) AS count_3
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL
LIMIT :limit_in::INTEGER) AS waiting) AS anon_3, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in::VARCHAR), 1 = 0) AS coalesce_1, statement_timestamp() AS statement_timestamp_1

-- statement: peek
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: peek-grouped
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NOT NULL AND NOT (EXISTS (SELECT
    other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" >= duerow_message."group" AND other."group" <=
    duerow_message."group" AND other.status IN ('new', 'error') AND other.id < duerow_message.id)) AND NOT (EXISTS
    (SELECT *
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id))
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: scan
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE coalesce(duerow_message.queue, '') = ANY (CAST((SELECT CAST(CAST(:queues_value::VARCHAR AS TEXT) AS TEXT[])) AS
    TEXT[])) AND coalesce(duerow_message.status, '') = ANY (CAST((SELECT CAST(CAST(:statuses_value::VARCHAR AS TEXT)
    AS TEXT[])) AS TEXT[])) AND ((CASE WHEN CASE WHEN (json_typeof(duerow_message.payload -> CAST(:param_1::VARCHAR AS
    TEXT)) = 'number' AND (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN CAST((duerow_message.payload
    -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END = :param_2::BIGINT OR CASE WHEN CASE
    WHEN (json_typeof(duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN (json_typeof(duerow_message.payload ->
    CAST(:param_1::VARCHAR AS TEXT)) = 'number' AND length((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[])) <= 400 AND (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}'
    AS TEXT[])) ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload ->
    CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC))
    THEN NULL WHEN (abs(CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS
    NUMERIC)) < CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE
    CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END
    END = CAST(:param_3 AS DOUBLE PRECISION)) AND NOT coalesce(duerow_message.attempts > :param_4::BIGINT, false) OR
    (CASE WHEN (json_typeof(duerow_message.headers -> CAST(:param_5::VARCHAR AS TEXT)) = 'string') THEN
    (duerow_message.headers -> CAST(:param_5::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) END COLLATE "C") LIKE
    :param_6::VARCHAR AND duerow_message.status IN (:param_7::VARCHAR, :param_8::VARCHAR)) AND duerow_message.id <=
    :last::BIGINT AND duerow_message.id > :after::BIGINT
ORDER BY duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: scan-descending
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id <= :last::BIGINT
ORDER BY duerow_message.id DESC
LIMIT :limit_in::INTEGER

-- statement: search
-- Like `find`, with a condition and in any order; built for one use, with the condition's values.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND ((CASE WHEN CASE WHEN (json_typeof(duerow_message.payload ->
    CAST(:param_1::VARCHAR AS TEXT)) = 'number' AND (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>>
    CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN
    CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END =
    :param_2::BIGINT OR CASE WHEN CASE WHEN (json_typeof(duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) =
    'number' AND (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN
    (json_typeof(duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) = 'number' AND
    length((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) <= 400 AND
    (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS
    TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC)) THEN NULL WHEN
    (abs(CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) <
    CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE CAST((duerow_message.payload ->
    CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END END = CAST(:param_3 AS DOUBLE
    PRECISION)) AND NOT coalesce(duerow_message.attempts > :param_4::BIGINT, false) OR (CASE WHEN
    (json_typeof(duerow_message.headers -> CAST(:param_5::VARCHAR AS TEXT)) = 'string') THEN (duerow_message.headers
    -> CAST(:param_5::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) END COLLATE "C") LIKE :param_6::VARCHAR AND
    duerow_message.status IN (:param_7::VARCHAR, :param_8::VARCHAR)) AND (duerow_message.priority < :param_9::BIGINT
    AND duerow_message.id != :param_10::BIGINT OR duerow_message.priority = :param_9::BIGINT AND duerow_message.id <
    :param_10::BIGINT OR duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER
FOR UPDATE OF duerow_message

-- statement: search-indexed
-- Like `find`, with a condition and in any order; built for one use, with the condition's values.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.queue = 'mail' AND
    coalesce(CAST(SUBSTRING(CAST(duerow_message.payload -> CAST('companyId' AS TEXT) AS TEXT)
FROM '^(-?[0-9]{1,15}([.][0-9]{1,15})?)$') AS DOUBLE PRECISION), CASE WHEN (json_typeof(duerow_message.payload ->
    CAST('companyId' AS TEXT)) = 'number' AND length((duerow_message.payload -> CAST('companyId' AS TEXT)) #>>
    CAST('{}' AS TEXT[])) <= 400 AND (((duerow_message.payload -> CAST('companyId' AS TEXT)) #>> CAST('{}' AS TEXT[]))
    ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload -> CAST('companyId' AS
    TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC)) THEN NULL WHEN
    (abs(CAST((duerow_message.payload -> CAST('companyId' AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) <
    CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE CAST((duerow_message.payload ->
    CAST('companyId' AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END END) = CAST(:param_1 AS DOUBLE
    PRECISION) AND (CASE WHEN CASE WHEN (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) =
    'number' AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN CAST((duerow_message.payload
    -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END = :param_3::BIGINT OR CASE WHEN CASE
    WHEN (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN (json_typeof(duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND length((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[])) <= 400 AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}'
    AS TEXT[])) ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC))
    THEN NULL WHEN (abs(CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS
    NUMERIC)) < CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE
    CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END
    END = CAST(:param_4 AS DOUBLE PRECISION)) AND (CASE WHEN (json_typeof((duerow_message.payload -> CAST('to' AS
    TEXT)) -> CAST('city' AS TEXT)) = 'string') THEN left(((duerow_message.payload -> CAST('to' AS TEXT)) ->
    CAST('city' AS TEXT)) #>> CAST('{}' AS TEXT[]), 200) END COLLATE "C") <= :param_5::VARCHAR AND (CASE WHEN
    (json_typeof(json_extract_path(duerow_message.payload, CAST(:param_6::VARCHAR AS TEXT), CAST(:param_7::VARCHAR AS
    TEXT))) = 'string') THEN json_extract_path(duerow_message.payload, CAST(:param_6::VARCHAR AS TEXT),
    CAST(:param_7::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) END COLLATE "C") < :param_8::VARCHAR
ORDER BY duerow_message.id ASC
LIMIT :limit_in::INTEGER

-- statement: tally
-- Count the first `limit_in` rows of a queue that match a condition, by a value.
SELECT found.value, count(*) AS count_1
FROM (SELECT CAST(duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT) AS TEXT) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND ((CASE WHEN CASE WHEN (json_typeof(duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>>
    CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN
    CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END =
    :param_3::BIGINT OR CASE WHEN CASE WHEN (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) =
    'number' AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN
    (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    length((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) <= 400 AND
    (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS
    TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC)) THEN NULL WHEN
    (abs(CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) <
    CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE CAST((duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END END = CAST(:param_4 AS DOUBLE
    PRECISION)) AND NOT coalesce(duerow_message.attempts > :param_5::BIGINT, false) OR (CASE WHEN
    (json_typeof(duerow_message.headers -> CAST(:param_6::VARCHAR AS TEXT)) = 'string') THEN (duerow_message.headers
    -> CAST(:param_6::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) END COLLATE "C") LIKE :param_7::VARCHAR AND
    duerow_message.status IN (:param_8::VARCHAR, :param_9::VARCHAR))
LIMIT :limit_in::INTEGER) AS found GROUP BY found.value

-- statement: time
-- Read the time.
SELECT statement_timestamp() AS statement_timestamp_1
