-- statement: is_large
-- Return whether any part of a queue has many messages.
SELECT CASE WHEN ((SELECT count(*) AS count_1
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0
LIMIT :param_1) AS anon_2) > 10000 OR (SELECT count(*) AS count_2
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1
LIMIT :param_2) AS anon_3) > 10000 OR (SELECT count(*) AS count_3
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL
LIMIT :param_3) AS anon_4) > 10000 OR (SELECT count(*) AS count_4
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1
LIMIT :param_4) AS anon_5) > 10000) THEN 1 ELSE 0 END AS anon_1

-- statement: near
-- Read as much of a page in the order of ids as lies within the table's next few ids; more rows may
-- follow.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.id >= (SELECT max(every.id) AS max_1
FROM duerow_message AS every) - 5000
ORDER BY duerow_message.id DESC
LIMIT :limit_in

-- statement: near-after
-- Read as much of a page in the order of ids as lies within the table's next few ids; more rows may
-- follow.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.id > :param_1 AND duerow_message.id <= :param_2 AND
    duerow_message.attempts > :param_3
ORDER BY duerow_message.id
LIMIT :limit_in

-- statement: page
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority = :param_1
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority < :param_1
ORDER BY duerow_message.priority, duerow_message.due_at IS NULL, duerow_message.due_at, duerow_message.id
LIMIT :limit_in) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority > :param_1
ORDER BY duerow_message.priority, duerow_message.due_at IS NULL, duerow_message.due_at, duerow_message.id
LIMIT :limit_in) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 AND
    duerow_message.priority = :param_2
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 AND
    duerow_message.priority < :param_2
ORDER BY duerow_message.priority, duerow_message.due_at IS NULL, duerow_message.due_at, duerow_message.id
LIMIT :limit_in) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 AND
    duerow_message.priority > :param_2
ORDER BY duerow_message.priority, duerow_message.due_at IS NULL, duerow_message.due_at, duerow_message.id
LIMIT :limit_in) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL
ORDER BY duerow_message.priority, duerow_message.behind_at IS NULL, duerow_message.behind_at, duerow_message.id
LIMIT :limit_in) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1
ORDER BY duerow_message.priority, coalesce(duerow_message.due_at, duerow_message.behind_at) IS NULL,
    coalesce(duerow_message.due_at, duerow_message.behind_at), duerow_message.id
LIMIT :limit_in) AS anon_8) AS parts)
ORDER BY duerow_message.priority, coalesce(duerow_message.due_at, duerow_message.behind_at) IS NULL,
    coalesce(duerow_message.due_at, duerow_message.behind_at), duerow_message.id
LIMIT :limit_in

-- statement: page-due_at-after
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority = :param_1 AND (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <=
    :param_4) AND (duerow_message.due_at < :param_5 AND duerow_message.id != :param_6 OR duerow_message.due_at =
    :param_5 AND duerow_message.id < :param_6 OR duerow_message.due_at IS NULL) AND duerow_message.due_at <= :param_7
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority < :param_1 AND (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <=
    :param_4) AND (duerow_message.due_at < :param_8 AND duerow_message.id != :param_9 OR duerow_message.due_at =
    :param_8 AND duerow_message.id < :param_9 OR duerow_message.due_at IS NULL) AND duerow_message.due_at <= :param_10
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority > :param_1 AND (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at <=
    :param_4) AND (duerow_message.due_at < :param_11 AND duerow_message.id != :param_12 OR duerow_message.due_at =
    :param_11 AND duerow_message.id < :param_12 OR duerow_message.due_at IS NULL) AND duerow_message.due_at <=
    :param_13
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 AND
    duerow_message.priority = :param_14 AND (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at
    <= :param_4) AND (duerow_message.due_at < :param_15 AND duerow_message.id != :param_16 OR duerow_message.due_at =
    :param_15 AND duerow_message.id < :param_16 OR duerow_message.due_at IS NULL) AND duerow_message.due_at <=
    :param_17
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 AND
    duerow_message.priority < :param_14 AND (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at
    <= :param_4) AND (duerow_message.due_at < :param_18 AND duerow_message.id != :param_19 OR duerow_message.due_at =
    :param_18 AND duerow_message.id < :param_19 OR duerow_message.due_at IS NULL) AND duerow_message.due_at <=
    :param_20
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 AND
    duerow_message.priority > :param_14 AND (duerow_message.status IN (:param_2, :param_3) AND duerow_message.due_at
    <= :param_4) AND (duerow_message.due_at < :param_21 AND duerow_message.id != :param_22 OR duerow_message.due_at =
    :param_21 AND duerow_message.id < :param_22 OR duerow_message.due_at IS NULL) AND duerow_message.due_at <=
    :param_23
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL AND (duerow_message.status IN (:param_24, :param_25) AND
    coalesce(duerow_message.due_at, duerow_message.behind_at) <= :param_26) AND (duerow_message.behind_at < :param_27
    AND duerow_message.id != :param_28 OR duerow_message.behind_at = :param_27 AND duerow_message.id < :param_28 OR
    duerow_message.behind_at IS NULL) AND duerow_message.behind_at <= :param_29
ORDER BY duerow_message.behind_at DESC, duerow_message.id DESC
LIMIT :limit_in) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.stopped = 1 AND (duerow_message.status IN (:param_24,
    :param_25) AND coalesce(duerow_message.due_at, duerow_message.behind_at) <= :param_26)
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in) AS anon_8) AS parts)
ORDER BY coalesce(duerow_message.due_at, duerow_message.behind_at) DESC, duerow_message.id DESC
LIMIT :limit_in

-- statement: page-id
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority = :param_1
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority < :param_1
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.priority > :param_1
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1
ORDER BY duerow_message.id DESC
LIMIT :limit_in) AS anon_6) AS parts)
ORDER BY duerow_message.id DESC
LIMIT :limit_in

-- statement: small
-- Read a page of a small queue: the indexes of its parts find all messages, and each one is checked.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id IN (SELECT parts.id
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 UNION ALL
    SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 UNION ALL
    SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL UNION ALL SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1) AS parts) AND duerow_message.attempts > :param_1
    AND duerow_message.id > :param_2
ORDER BY duerow_message.id
LIMIT :limit_in
