-- statement: blocker
-- Read the message of a group that holds back the given one: the leased one, or else the first.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id = coalesce((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in AND other."group" = :group_in AND other.leased_by IS NOT NULL AND other.id != :id_in
LIMIT 1 OFFSET :param_1), (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in AND other."group" = :group_in AND other.status IN ('new', 'error') AND other.id < :id_in
ORDER BY other.id
LIMIT 1 OFFSET :param_2))

-- statement: count
-- Count a queue's rows by status: rows in line, behind others and at rest, each kind by its own index.
SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NULL GROUP
    BY duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NOT NULL
    GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL AND
    duerow_message."group" IS NOT NULL AND duerow_message.status IN ('new', 'error') GROUP BY duerow_message.status
    UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL GROUP BY
    duerow_message.status

-- statement: find-after_id-by_id
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.id > :after_id
ORDER BY duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: find-by_id-keys-live
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message."key" IS NOT NULL AND duerow_message.status IN ('new',
    'error') AND duerow_message."key" IN (SELECT keys.value
FROM (SELECT keys_rows.value AS value
FROM json_each(:keys) AS keys_rows) AS keys)
ORDER BY duerow_message.id + 0
LIMIT :limit_in OFFSET :param_1

-- statement: find-ids-statuses
-- Read messages of a queue by the filters in `by`: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.id IN (SELECT ids.value
FROM (SELECT ids_rows.value AS value
FROM json_each(:ids) AS ids_rows) AS ids) AND duerow_message.status IN (SELECT statuses.value
FROM (SELECT statuses_rows.value AS value
FROM json_each(:statuses) AS statuses_rows) AS statuses)
ORDER BY duerow_message.priority, coalesce(duerow_message.due_at, duerow_message.behind_at) ASC NULLS LAST,
    duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: out_of_line
-- Count the dead, stopped and waiting rows of a queue, which are in no line, each up to a limit.
SELECT (SELECT count(*) AS count_1
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL AND
    (duerow_message.status NOT IN ('new', 'error'))
LIMIT :limit_in OFFSET :param_1) AS dead) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL AND
    duerow_message.status != 'dead'
LIMIT :limit_in OFFSET :param_2) AS stopped) AS anon_2, (SELECT count(*) AS count_3
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message."group" IS NOT NULL AND duerow_message.status IN ('new',
    'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL
LIMIT :limit_in OFFSET :param_3) AS waiting) AS anon_3, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in), 1 = 0) AS coalesce_1, :now AS anon_4

-- statement: peek
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: peek-grouped
-- Read the oldest due rows of a line; in groups, only rows that may be handed out.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NOT NULL AND NOT (EXISTS (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.status IN ('new',
    'error') AND other.id < duerow_message.id)) AND NOT (EXISTS (SELECT *
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id))
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: scan
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE coalesce(duerow_message.queue, '') IN (SELECT queues.value
FROM (SELECT queues_rows.value AS value
FROM json_each(:queues) AS queues_rows) AS queues) AND coalesce(duerow_message.status, '') IN (SELECT statuses.value
FROM (SELECT statuses_rows.value AS value
FROM json_each(:statuses) AS statuses_rows) AS statuses) AND ((CASE WHEN (json_type(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) IN ('integer', 'real') AND
    typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1))
    = 'integer') THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_1) END = :param_2 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_1) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1)) = 'real' AND
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) >
    -9e999 AND json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_1) < 9e999) THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_1) END = json_extract(:param_3, '$')) AND coalesce(duerow_message.attempts >
    :param_4, 0) = 0 OR (CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.headers) = 1) THEN
    duerow_message.headers END, :param_5) = 'text') THEN json_extract(CASE WHEN (json_valid(duerow_message.headers) =
    1) THEN duerow_message.headers END, :param_5) END GLOB :param_6) AND duerow_message.status IN (:param_7,
    :param_8)) AND duerow_message.id <= :last AND duerow_message.id > :after
ORDER BY duerow_message.id
LIMIT :limit_in OFFSET :param_9

-- statement: scan-descending
-- Read messages of many queues by the index on ids, filtered by `queues` and `statuses`.
SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id <= :last
ORDER BY duerow_message.id DESC
LIMIT :limit_in OFFSET :param_1

-- statement: search
-- Like `find`, with a condition and in any order; built for one use, with the condition's values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_1) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1)) = 'integer') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) END =
    :param_2 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload
    END, :param_1) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_1)) = 'real' AND json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) > -9e999 AND json_extract(CASE
    WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) < 9e999) THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) END =
    json_extract(:param_3, '$')) AND coalesce(duerow_message.attempts > :param_4, 0) = 0 OR (CASE WHEN (json_type(CASE
    WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_5) = 'text') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_5) END
    GLOB :param_6) AND duerow_message.status IN (:param_7, :param_8)) AND (duerow_message.priority < :param_9 AND
    duerow_message.id != :param_10 OR duerow_message.priority = :param_9 AND duerow_message.id < :param_10 OR
    duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in OFFSET :param_11

-- statement: search-indexed
-- Like `find`, with a condition and in any order; built for one use, with the condition's values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.queue = 'mail' AND CASE WHEN
    (json_type(duerow_message.payload, '$."companyId"') IN ('integer', 'real')) THEN
    json_extract(duerow_message.payload, '$."companyId"') END = :param_1 AND (CASE WHEN (json_type(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) IN ('integer', 'real') AND
    typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2))
    = 'integer') THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_2) END = :param_3 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_2) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2)) = 'real' AND
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) >
    -9e999 AND json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_2) < 9e999) THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_2) END = json_extract(:param_4, '$')) AND CASE WHEN
    (json_type(duerow_message.payload, '$."to"."city"') = 'text') THEN substr(json_extract(duerow_message.payload,
    '$."to"."city"'), 1, 200) END <= :param_5 AND CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) =
    1) THEN duerow_message.payload END, :param_6) = 'text') THEN json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_6) END < :param_7
ORDER BY duerow_message.id ASC
LIMIT :limit_in OFFSET :param_8

-- statement: tally
-- Count the first `limit_in` rows of a queue that match a condition, by a value.
SELECT found.value, count(*) AS count_1
FROM (SELECT json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_1, :param_1) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_2) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2)) = 'integer') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) END =
    :param_3 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload
    END, :param_2) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_2)) = 'real' AND json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) > -9e999 AND json_extract(CASE
    WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) < 9e999) THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) END =
    json_extract(:param_4, '$')) AND coalesce(duerow_message.attempts > :param_5, 0) = 0 OR (CASE WHEN (json_type(CASE
    WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_6) = 'text') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_6) END
    GLOB :param_7) AND duerow_message.status IN (:param_8, :param_9))
LIMIT :limit_in OFFSET :param_10) AS found GROUP BY found.value

-- statement: time
-- Read the time.
SELECT :now AS anon_1
