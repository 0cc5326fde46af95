-- statement: is_large
-- Return whether any part of a queue has many messages.
SELECT CASE WHEN ((SELECT count(*) AS count_1
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL
LIMIT :param_1::INTEGER) AS anon_2) > 10000 OR (SELECT count(*) AS count_2
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL
LIMIT :param_2::INTEGER) AS anon_3) > 10000 OR (SELECT count(*) AS count_3
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL
LIMIT :param_3::INTEGER) AS anon_4) > 10000 OR (SELECT count(*) AS count_4
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
LIMIT :param_4::INTEGER) AS anon_5) > 10000) THEN 1 ELSE 0 END AS anon_1

-- statement: near
-- Read as much of a page in the order of ids as lies within the table's next few ids; more rows may
-- follow.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.id >= (SELECT max(every.id) AS max_1
FROM duerow_message AS every) - 5000
ORDER BY duerow_message.id DESC
LIMIT :limit_in::INTEGER

-- statement: near-after
-- Read as much of a page in the order of ids as lies within the table's next few ids; more rows may
-- follow.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.id > :param_1::BIGINT AND duerow_message.id <=
    :param_2::BIGINT AND duerow_message.attempts > :param_3::BIGINT
ORDER BY duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: page
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority = :param_1::SMALLINT
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority < :param_1::SMALLINT
ORDER BY duerow_message.priority, duerow_message.due_at ASC NULLS LAST, duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority > :param_1::SMALLINT
ORDER BY duerow_message.priority, duerow_message.due_at ASC NULLS LAST, duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL AND duerow_message.priority = :param_2::SMALLINT
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL AND duerow_message.priority < :param_2::SMALLINT
ORDER BY duerow_message.priority, duerow_message.due_at ASC NULLS LAST, duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL AND duerow_message.priority > :param_2::SMALLINT
ORDER BY duerow_message.priority, duerow_message.due_at ASC NULLS LAST, duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL
ORDER BY duerow_message.priority, duerow_message.behind_at ASC NULLS LAST, duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
ORDER BY duerow_message.priority, coalesce(duerow_message.due_at, duerow_message.behind_at) ASC NULLS LAST,
    duerow_message.id
LIMIT :limit_in::INTEGER) AS anon_8) AS parts)))
ORDER BY duerow_message.priority, coalesce(duerow_message.due_at, duerow_message.behind_at) ASC NULLS LAST,
    duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: page-due_at-after
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority = :param_1::SMALLINT AND (duerow_message.status IN (:param_2::VARCHAR,
    :param_3::VARCHAR) AND duerow_message.due_at <= :param_4::TIMESTAMP WITH TIME ZONE) AND (duerow_message.due_at <
    :param_5::TIMESTAMP WITH TIME ZONE AND duerow_message.id != :param_6::BIGINT OR duerow_message.due_at =
    :param_5::TIMESTAMP WITH TIME ZONE AND duerow_message.id < :param_6::BIGINT OR duerow_message.due_at IS NULL) AND
    duerow_message.due_at <= :param_7::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority < :param_1::SMALLINT AND (duerow_message.status IN (:param_2::VARCHAR,
    :param_3::VARCHAR) AND duerow_message.due_at <= :param_4::TIMESTAMP WITH TIME ZONE) AND (duerow_message.due_at <
    :param_8::TIMESTAMP WITH TIME ZONE AND duerow_message.id != :param_9::BIGINT OR duerow_message.due_at =
    :param_8::TIMESTAMP WITH TIME ZONE AND duerow_message.id < :param_9::BIGINT OR duerow_message.due_at IS NULL) AND
    duerow_message.due_at <= :param_10::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority > :param_1::SMALLINT AND (duerow_message.status IN (:param_2::VARCHAR,
    :param_3::VARCHAR) AND duerow_message.due_at <= :param_4::TIMESTAMP WITH TIME ZONE) AND (duerow_message.due_at <
    :param_11::TIMESTAMP WITH TIME ZONE AND duerow_message.id != :param_12::BIGINT OR duerow_message.due_at =
    :param_11::TIMESTAMP WITH TIME ZONE AND duerow_message.id < :param_12::BIGINT OR duerow_message.due_at IS NULL)
    AND duerow_message.due_at <= :param_13::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL AND duerow_message.priority = :param_14::SMALLINT AND (duerow_message.status IN (:param_2::VARCHAR,
    :param_3::VARCHAR) AND duerow_message.due_at <= :param_4::TIMESTAMP WITH TIME ZONE) AND (duerow_message.due_at <
    :param_15::TIMESTAMP WITH TIME ZONE AND duerow_message.id != :param_16::BIGINT OR duerow_message.due_at =
    :param_15::TIMESTAMP WITH TIME ZONE AND duerow_message.id < :param_16::BIGINT OR duerow_message.due_at IS NULL)
    AND duerow_message.due_at <= :param_17::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at DESC, duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL AND duerow_message.priority < :param_14::SMALLINT AND (duerow_message.status IN (:param_2::VARCHAR,
    :param_3::VARCHAR) AND duerow_message.due_at <= :param_4::TIMESTAMP WITH TIME ZONE) AND (duerow_message.due_at <
    :param_18::TIMESTAMP WITH TIME ZONE AND duerow_message.id != :param_19::BIGINT OR duerow_message.due_at =
    :param_18::TIMESTAMP WITH TIME ZONE AND duerow_message.id < :param_19::BIGINT OR duerow_message.due_at IS NULL)
    AND duerow_message.due_at <= :param_20::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL AND duerow_message.priority > :param_14::SMALLINT AND (duerow_message.status IN (:param_2::VARCHAR,
    :param_3::VARCHAR) AND duerow_message.due_at <= :param_4::TIMESTAMP WITH TIME ZONE) AND (duerow_message.due_at <
    :param_21::TIMESTAMP WITH TIME ZONE AND duerow_message.id != :param_22::BIGINT OR duerow_message.due_at =
    :param_21::TIMESTAMP WITH TIME ZONE AND duerow_message.id < :param_22::BIGINT OR duerow_message.due_at IS NULL)
    AND duerow_message.due_at <= :param_23::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_6 UNION ALL SELECT anon_7.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL AND
    (duerow_message.status IN (:param_24::VARCHAR, :param_25::VARCHAR) AND coalesce(duerow_message.due_at,
    duerow_message.behind_at) <= :param_26::TIMESTAMP WITH TIME ZONE) AND (duerow_message.behind_at <
    :param_27::TIMESTAMP WITH TIME ZONE AND duerow_message.id != :param_28::BIGINT OR duerow_message.behind_at =
    :param_27::TIMESTAMP WITH TIME ZONE AND duerow_message.id < :param_28::BIGINT OR duerow_message.behind_at IS NULL)
    AND duerow_message.behind_at <= :param_29::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.behind_at DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_7 UNION ALL SELECT anon_8.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    AND duerow_message.status != 'dead' AND (duerow_message.status IN (:param_24::VARCHAR, :param_25::VARCHAR) AND
    coalesce(duerow_message.due_at, duerow_message.behind_at) <= :param_26::TIMESTAMP WITH TIME ZONE)
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in::INTEGER) AS anon_8) AS parts)))
ORDER BY coalesce(duerow_message.due_at, duerow_message.behind_at) DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER

-- statement: page-id
-- Read a page in any order: the first rows of each part of the queue by its own index, then the first
-- of all.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT parts.id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority = :param_1::SMALLINT
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority < :param_1::SMALLINT
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.priority > :param_1::SMALLINT
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in::INTEGER) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in::INTEGER) AS anon_4 UNION ALL SELECT anon_5.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL
ORDER BY duerow_message.id + 0 DESC
LIMIT :limit_in::INTEGER) AS anon_5 UNION ALL SELECT anon_6.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
ORDER BY duerow_message.id DESC
LIMIT :limit_in::INTEGER) AS anon_6) AS parts)))
ORDER BY duerow_message.id DESC
LIMIT :limit_in::INTEGER

-- statement: small
-- Read a page of a small queue: the indexes of its parts find all messages, and each one is checked.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT parts.id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL UNION ALL SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NOT NULL UNION ALL SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL UNION ALL SELECT
    duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS
    NULL) AS parts))) AND duerow_message.attempts > :param_1::BIGINT AND duerow_message.id > :param_2::BIGINT
ORDER BY duerow_message.id
LIMIT :limit_in::INTEGER
