-- statement: change-anew-due
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`, given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', `delay` BIGINT PATH '$[3]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue =
    :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= UTC_TIMESTAMP(6))
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`due`, given_rows.`delay`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', `delay` BIGINT PATH '$[3]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue =
    :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= CAST(:told AS DATETIME(6))) AND (duerow_message.id IN :found)
SET duerow_message.due_at = coalesce(given.due, timestampadd(MICROSECOND, given.delay, CAST(:told AS DATETIME(6))),
    CAST(:told AS DATETIME(6))), duerow_message.behind_at = NULL, duerow_message.status = 'new',
    duerow_message.attempts = 0, duerow_message.last_attempt_at = NULL, duerow_message.last_error = NULL,
    duerow_message.token = duerow_message.token + 1, duerow_message.leased_by = NULL, duerow_message.leased_until =
    NULL

-- statement: change-headers-payload
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`kind`, given_rows.`payload`, given_rows.`headers`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue =
    :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= UTC_TIMESTAMP(6))
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`kind`, given_rows.`payload`, given_rows.`headers`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[4]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue =
    :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= CAST(:told AS DATETIME(6))) AND (duerow_message.id IN :found)
SET duerow_message.due_at = CASE WHEN (duerow_message.leased_until > CAST(:told AS DATETIME(6))) THEN CAST(:told AS
    DATETIME(6)) ELSE duerow_message.due_at END, duerow_message.kind = given.kind, duerow_message.payload =
    given.payload, duerow_message.headers = given.headers, duerow_message.token = duerow_message.token + 1,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL

-- statement: change-priority
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`priority`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `priority` BIGINT PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue =
    :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= UTC_TIMESTAMP(6))
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`priority`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `priority` BIGINT PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON duerow_message.id =
    given.id AND duerow_message.token = given.token AND duerow_message.queue = :queue_in AND duerow_message.status !=
    'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR duerow_message.leased_until <=
    CAST(:told AS DATETIME(6))) AND (duerow_message.id IN :found)
SET duerow_message.due_at = CASE WHEN (duerow_message.leased_until > CAST(:told AS DATETIME(6))) THEN CAST(:told AS
    DATETIME(6)) ELSE duerow_message.due_at END, duerow_message.priority = given.priority, duerow_message.token =
    duerow_message.token + 1, duerow_message.leased_by = NULL, duerow_message.leased_until = NULL

-- statement: change-stopped
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue =
    :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= UTC_TIMESTAMP(6))
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ duerow_message FORCE INDEX
    (PRIMARY)
SET duerow_message.due_at = NULL, duerow_message.behind_at = NULL, duerow_message.token = duerow_message.token + 1,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
WHERE duerow_message.id IN :found

-- statement: changeable
-- Read the ids of the rows that `change` would change.
SELECT STRAIGHT_JOIN duerow_message.id
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= UTC_TIMESTAMP(6))

-- statement: purge
-- Delete some messages of a queue in any state, finding each kind by its own index; return their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT some.id AS id
FROM (SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.id <= :last_in
LIMIT :limit_in) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.id <= :last_in
LIMIT :limit_in) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1 AND duerow_message.id <= :last_in
LIMIT :limit_in) AS anon_4) AS some
LIMIT :limit_in) AS picked INNER
JOIN duerow_message ON duerow_message.id = picked.id
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: remove
-- Delete the given rows, leased ones only with `even_if_leased`; return their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.queue = :queue_in AND (:even_if_leased = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= UTC_TIMESTAMP(6))
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id

-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVEPOINT duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.`key`, duerow_message.attempts, duerow_message.`group`,
    duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    duerow_message ON duerow_message.id = given.id AND (duerow_message.id IN :found)
SET duerow_message.due_at = NULL, duerow_message.behind_at = NULL, duerow_message.status = 'dead',
    duerow_message.last_error = given.error, duerow_message.token = CASE WHEN (duerow_message.token <
    9223372036854775807) THEN duerow_message.token + 1 ELSE 0 END, duerow_message.leased_by = NULL,
    duerow_message.leased_until = NULL

-- statement: to_savepoint
-- Undo everything since `savepoint`.
ROLLBACK TO SAVEPOINT duerow_row
