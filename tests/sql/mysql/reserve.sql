-- statement: further_lines
-- Read the lowest priority in use in each given gap, in groups or not, and whether its queue is
-- paused.
SELECT :queue_0 AS anon_1, :grouped_0 AS anon_2, CASE WHEN :grouped_0 THEN (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_0 AND duerow_message.priority > :low_0 AND duerow_message.priority < :high_0 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 1
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) ELSE (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_0 AND duerow_message.priority > :low_0 AND duerow_message.priority < :high_0 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 0
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) END AS anon_3, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_0), 1 = 0) AS coalesce_1 UNION ALL SELECT :queue_1 AS anon_4, :grouped_1 AS anon_5,
    CASE WHEN :grouped_1 THEN (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_1 AND duerow_message.priority > :low_1 AND duerow_message.priority < :high_1 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 1
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) ELSE (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_1 AND duerow_message.priority > :low_1 AND duerow_message.priority < :high_1 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 0
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) END AS anon_6, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_1), 1 = 0) AS coalesce_2

-- statement: lend
-- Lease picked rows, as `reserve` does; if two rows of a group are leased at once, the second lease
-- fails.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.payload AS payload, duerow_message.kind, duerow_message.`key`,
    duerow_message.headers AS headers, CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts
    >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status
    ELSE 'done' END END AS anon_1, duerow_message.created_at, nullif(duerow_message.first_due_at,
    duerow_message.created_at) AS nullif_1, nullif(duerow_message.due_at, duerow_message.first_due_at) AS nullif_2,
    (duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN 0 ELSE 1 END) AS anon_2, (duerow_message.token + 1) AS anon_3, timestampdiff(MICROSECOND,
    '1970-01-01', timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS timestampdiff_1, CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END AS last_error,
    duerow_message.priority, duerow_message.`group`, duerow_message.id AS id__1, duerow_message.attempts,
    UTC_TIMESTAMP(6) AS anon_4
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

-- statement: next_due
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
SELECT given.queue, CASE WHEN given.grouped THEN (SELECT duerow_message.due_at
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    :floor AND duerow_message.line = 1
ORDER BY duerow_message.queue, duerow_message.priority, duerow_message.line, duerow_message.due_at
LIMIT 1) ELSE (SELECT duerow_message.due_at
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    :floor AND duerow_message.line = 0
ORDER BY duerow_message.queue, duerow_message.priority, duerow_message.line, duerow_message.due_at
LIMIT 1) END AS anon_1, UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`queue`, given_rows.`grouped`, given_rows.`priority`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `grouped` BIGINT PATH '$[1]', `priority` BIGINT PATH '$[2]',
    nth_given FOR ORDINALITY)) AS given_rows) AS given

-- statement: next_due-of_kinds
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
SELECT given.queue, CASE WHEN given.grouped THEN (SELECT duerow_message.due_at
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message.line = 1
ORDER BY duerow_message.queue, duerow_message.priority, duerow_message.line, duerow_message.due_at
LIMIT 1) ELSE (SELECT duerow_message.due_at
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message.line = 0
ORDER BY duerow_message.queue, duerow_message.priority, duerow_message.line, duerow_message.due_at
LIMIT 1) END AS anon_1, UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`queue`, given_rows.`grouped`, given_rows.`priority`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `grouped` BIGINT PATH '$[1]', `priority` BIGINT PATH '$[2]',
    nth_given FOR ORDINALITY)) AS given_rows) AS given

-- statement: pick
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message.`group`
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: pick-grouped
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message.`group`
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 1
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: pick-grouped-from_floor
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message.`group`
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 1 AND duerow_message.due_at >= :floor
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: pick-of_kinds
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message.`group`
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 1 AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: pop
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error, UTC_TIMESTAMP(6) AS anon_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_2
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: pop-from_floor
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error, UTC_TIMESTAMP(6) AS anon_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_2
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0 AND duerow_message.due_at >= :floor
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: pop-of_kinds
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error, UTC_TIMESTAMP(6) AS anon_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_2
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0 AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
SELECT duerow_message.id, duerow_message.payload AS payload, duerow_message.kind, duerow_message.`key`,
    duerow_message.headers AS headers, CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts
    >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status
    ELSE 'done' END END AS anon_1, duerow_message.created_at, nullif(duerow_message.first_due_at,
    duerow_message.created_at) AS nullif_1, nullif(duerow_message.due_at, duerow_message.first_due_at) AS nullif_2,
    (duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN 0 ELSE 1 END) AS anon_2, (duerow_message.token + 1) AS anon_3, timestampdiff(MICROSECOND,
    '1970-01-01', timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS timestampdiff_1, CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END AS last_error, duerow_message.id AS
    id__1, duerow_message.attempts, UTC_TIMESTAMP(6) AS anon_4
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

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
SELECT duerow_message.id, duerow_message.payload AS payload, duerow_message.kind, duerow_message.`key`,
    duerow_message.headers AS headers, CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts
    >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status
    ELSE 'done' END END AS anon_1, duerow_message.created_at, nullif(duerow_message.first_due_at,
    duerow_message.created_at) AS nullif_1, nullif(duerow_message.due_at, duerow_message.first_due_at) AS nullif_2,
    (duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN 0 ELSE 1 END) AS anon_2, (duerow_message.token + 1) AS anon_3, timestampdiff(MICROSECOND,
    '1970-01-01', timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS timestampdiff_1, CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END AS last_error, duerow_message.id AS
    id__1, duerow_message.attempts, UTC_TIMESTAMP(6) AS anon_4
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

-- statement: reserve-of_kinds
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
SELECT duerow_message.id, duerow_message.payload AS payload, duerow_message.kind, duerow_message.`key`,
    duerow_message.headers AS headers, CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts
    >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status
    ELSE 'done' END END AS anon_1, duerow_message.created_at, nullif(duerow_message.first_due_at,
    duerow_message.created_at) AS nullif_1, nullif(duerow_message.due_at, duerow_message.first_due_at) AS nullif_2,
    (duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN 0 ELSE 1 END) AS anon_2, (duerow_message.token + 1) AS anon_3, timestampdiff(MICROSECOND,
    '1970-01-01', timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS timestampdiff_1, CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END AS last_error, duerow_message.id AS
    id__1, duerow_message.attempts, UTC_TIMESTAMP(6) AS anon_4
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

-- statement: take
-- Delete picked rows, as `pop` does.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error, UTC_TIMESTAMP(6) AS anon_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id
