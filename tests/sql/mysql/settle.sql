-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND (duerow_message.id IN
    :found)
SET duerow_message.status = 'dead', duerow_message.due_at = NULL, duerow_message.last_error = coalesce(given.error,
    duerow_message.last_error), duerow_message.token = duerow_message.token + 1, duerow_message.leased_by = NULL,
    duerow_message.leased_until = NULL

-- statement: bury-of_shared
-- Bury rows whose token matches, with an error; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, CAST(:given_token AS SIGNED) AS `token`, CONVERT(:given_error
USING utf8mb4) COLLATE utf8mb4_0900_bin AS `error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    CAST(:given_token AS SIGNED) AS `token`, CONVERT(:given_error
USING utf8mb4) COLLATE utf8mb4_0900_bin AS `error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND
    (duerow_message.id IN :found)
SET duerow_message.status = 'dead', duerow_message.due_at = NULL, duerow_message.last_error = coalesce(given.error,
    duerow_message.last_error), duerow_message.token = duerow_message.token + 1, duerow_message.leased_by = NULL,
    duerow_message.leased_until = NULL

-- statement: commit
-- Delete the rows whose token matches; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: commit-of_one
-- Delete the rows whose token matches; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT CAST(:given_id AS SIGNED) AS `id`, CAST(:given_token AS SIGNED) AS `token`, 1 AS nth_given) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: commit-of_shared
-- Delete the rows whose token matches; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, CAST(:given_token AS SIGNED) AS `token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: extend
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ duerow_message FORCE INDEX
    (PRIMARY)
SET duerow_message.due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))), duerow_message.leased_until
    = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE duerow_message.id IN :found

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, CAST(:given_token AS SIGNED) AS `token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ duerow_message FORCE INDEX
    (PRIMARY)
SET duerow_message.due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))), duerow_message.leased_until
    = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE duerow_message.id IN :found

-- statement: leased_range
-- Read the messages of a claim in a range of ids; the planner should use only the range.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id BETWEEN :first_in AND :last_in AND duerow_message.leased_by = :consumer AND
    duerow_message.queue = :queue_in
ORDER BY duerow_message.id
LIMIT :limit_in

-- statement: lend_picked_unread
-- Like `lend`, but return only receipts, former due times and groups.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) AS anon_1, CASE WHEN (duerow_message.leased_until
    IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN
    ('new', 'error')) THEN duerow_message.status ELSE 'done' END END AS anon_2, duerow_message.due_at,
    duerow_message.`group`, duerow_message.id AS id__1, duerow_message.attempts, UTC_TIMESTAMP(6) AS anon_3
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`id`,
    found_rows.`attempts`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `attempts` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id
SET duerow_message.status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, duerow_message.place_at = duerow_message.due_at, duerow_message.attempts = found.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN 0 ELSE 1 END,
    duerow_message.token = duerow_message.token + 1, duerow_message.last_attempt_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN duerow_message.last_attempt_at
    ELSE CAST(:told AS DATETIME(6)) END, duerow_message.last_error = CASE WHEN (duerow_message.leased_until IS NOT
    NULL) THEN concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC,
    attempt ', found.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, duerow_message.due_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE
    timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END, duerow_message.leased_by = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE :consumer END,
    duerow_message.leased_until = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >=
    :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END

-- statement: lend_unread
-- Like `reserve`, but return only receipts, former due times and the floor.
SELECT duerow_message.id, (duerow_message.token + 1) AS anon_1, CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error'))
    THEN duerow_message.status ELSE 'done' END END AS anon_2, duerow_message.due_at, duerow_message.id AS id__1,
    duerow_message.attempts, UTC_TIMESTAMP(6) AS anon_3
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`id`,
    found_rows.`attempts`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `attempts` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id
SET duerow_message.status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, duerow_message.place_at = duerow_message.due_at, duerow_message.attempts = found.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN 0 ELSE 1 END,
    duerow_message.token = duerow_message.token + 1, duerow_message.last_attempt_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN duerow_message.last_attempt_at
    ELSE CAST(:told AS DATETIME(6)) END, duerow_message.last_error = CASE WHEN (duerow_message.leased_until IS NOT
    NULL) THEN concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC,
    attempt ', found.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, duerow_message.due_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE
    timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END, duerow_message.leased_by = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE :consumer END,
    duerow_message.leased_until = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >=
    :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END

-- statement: lend_unread-from_floor
-- Like `reserve`, but return only receipts, former due times and the floor.
SELECT duerow_message.id, (duerow_message.token + 1) AS anon_1, CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error'))
    THEN duerow_message.status ELSE 'done' END END AS anon_2, duerow_message.due_at, duerow_message.id AS id__1,
    duerow_message.attempts, UTC_TIMESTAMP(6) AS anon_3
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0 AND duerow_message.due_at >= :floor
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`id`,
    found_rows.`attempts`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `attempts` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id
SET duerow_message.status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, duerow_message.place_at = duerow_message.due_at, duerow_message.attempts = found.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN 0 ELSE 1 END,
    duerow_message.token = duerow_message.token + 1, duerow_message.last_attempt_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN duerow_message.last_attempt_at
    ELSE CAST(:told AS DATETIME(6)) END, duerow_message.last_error = CASE WHEN (duerow_message.leased_until IS NOT
    NULL) THEN concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC,
    attempt ', found.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, duerow_message.due_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE
    timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END, duerow_message.leased_by = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE :consumer END,
    duerow_message.leased_until = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >=
    :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END

-- statement: lend_unread-of_kinds
-- Like `reserve`, but return only receipts, former due times and the floor.
SELECT duerow_message.id, (duerow_message.token + 1) AS anon_1, CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error'))
    THEN duerow_message.status ELSE 'done' END END AS anon_2, duerow_message.due_at, duerow_message.id AS id__1,
    duerow_message.attempts, UTC_TIMESTAMP(6) AS anon_3
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0 AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`id`,
    found_rows.`attempts`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `attempts` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id
SET duerow_message.status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, duerow_message.place_at = duerow_message.due_at, duerow_message.attempts = found.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN 0 ELSE 1 END,
    duerow_message.token = duerow_message.token + 1, duerow_message.last_attempt_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN duerow_message.last_attempt_at
    ELSE CAST(:told AS DATETIME(6)) END, duerow_message.last_error = CASE WHEN (duerow_message.leased_until IS NOT
    NULL) THEN concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC,
    attempt ', found.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, duerow_message.due_at = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE
    timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END, duerow_message.leased_by = CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND found.attempts >= :attempts_in) THEN NULL ELSE :consumer END,
    duerow_message.leased_until = CASE WHEN (duerow_message.leased_until IS NOT NULL AND found.attempts >=
    :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END

-- statement: message_headers
-- Read the rows of a queue whose token matches, with the columns of OUTLINE.
SELECT duerow_message.id, duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`,
    duerow_message.priority
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in

-- statement: move
-- Send rows whose token matches to another queue; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`due`,
    given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `queue` VARCHAR(255)
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[6]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[7]', `priority` BIGINT PATH '$[8]', `due` DATETIME(6) PATH '$[9]',
    `delay` BIGINT PATH '$[10]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`queue`, given_rows.`key`, given_rows.`kind`, given_rows.`payload`,
    given_rows.`headers`, given_rows.`group`, given_rows.`priority`, given_rows.`due`, given_rows.`delay`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `queue` VARCHAR(255)
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[5]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[6]', `group` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[7]', `priority` BIGINT PATH '$[8]', `due` DATETIME(6) PATH '$[9]',
    `delay` BIGINT PATH '$[10]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id AND duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.queue = given.queue, duerow_message.`key` = given.`key`, duerow_message.kind = coalesce(given.kind,
    duerow_message.kind), duerow_message.payload = coalesce(given.payload, duerow_message.payload),
    duerow_message.headers = given.headers, duerow_message.`group` = given.`group`, duerow_message.priority =
    given.priority, duerow_message.status = 'new', duerow_message.due_at = coalesce(given.due,
    timestampadd(MICROSECOND, given.delay, CAST(:told AS DATETIME(6))), CAST(:told AS DATETIME(6))),
    duerow_message.first_due_at = coalesce(given.due, timestampadd(MICROSECOND, given.delay, CAST(:told AS
    DATETIME(6))), CAST(:told AS DATETIME(6))), duerow_message.attempts = 0, duerow_message.last_attempt_at = NULL,
    duerow_message.last_error = NULL, duerow_message.token = duerow_message.token + 1, duerow_message.leased_by =
    NULL, duerow_message.leased_until = NULL

-- statement: owned
-- Read the rows whose token matches, and lock them if the database can.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE OF duerow_message

-- statement: owned-of_shared
-- Read the rows whose token matches, and lock them if the database can.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT given_rows.`id`, CAST(:given_token AS SIGNED) AS `token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE OF duerow_message

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`due`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id =
    given.id AND duerow_message.token = given.token AND (duerow_message.id IN :found)
SET duerow_message.due_at = coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    duerow_message.attempts = duerow_message.attempts - 1, duerow_message.token = duerow_message.token + 1,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL

-- statement: release-of_shared
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, CAST(:given_token AS SIGNED) AS `token`, CAST(:given_due AS DATETIME(6)) AS `due`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    CAST(:given_token AS SIGNED) AS `token`, CAST(:given_due AS DATETIME(6)) AS `due`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND
    (duerow_message.id IN :found)
SET duerow_message.due_at = coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    duerow_message.attempts = duerow_message.attempts - 1, duerow_message.token = duerow_message.token + 1,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, (duerow_message.token + 1) - 1 AS anon_1, duerow_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`delay`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `delay` BIGINT PATH
    '$[2]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`delay`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `delay` BIGINT PATH
    '$[2]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND (duerow_message.id IN
    :found)
SET duerow_message.status = 'error', duerow_message.due_at = timestampadd(MICROSECOND, given.delay, CAST(:told AS
    DATETIME(6))), duerow_message.last_error = coalesce(given.error, duerow_message.last_error), duerow_message.token
    = duerow_message.token + 1, duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
