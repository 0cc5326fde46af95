-- statement: expired_keys
-- Lock expired keys, and read them.
SELECT duerow_remembered.queue, duerow_remembered.`key`
FROM duerow_remembered
WHERE duerow_remembered.until <= UTC_TIMESTAMP(6)
ORDER BY duerow_remembered.until
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: expired_turns
-- Lock expired turns, and read their receipts.
SELECT duerow_history.id, duerow_history.token
FROM duerow_history
WHERE duerow_history.until <= UTC_TIMESTAMP(6)
ORDER BY duerow_history.until
LIMIT :limit_in
FOR UPDATE SKIP LOCKED

-- statement: forget_keys
-- Delete remembered keys; return the ids of their former holders.
SELECT STRAIGHT_JOIN duerow_remembered.id, duerow_remembered.queue, duerow_remembered.`key`, UTC_TIMESTAMP(6) AS
    anon_1
FROM (SELECT given_rows.`queue`, given_rows.`key`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS given_rows) AS given INNER
JOIN duerow_remembered ON duerow_remembered.queue = given.queue AND duerow_remembered.`key` = given.`key`
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_remembered
FROM (SELECT found_rows.`queue`, found_rows.`key`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS found_rows) AS found STRAIGHT_JOIN duerow_remembered ON
    duerow_remembered.queue = found.queue AND duerow_remembered.`key` = found.`key`

-- statement: forget_turns
-- Delete turns; return their ids.
SELECT STRAIGHT_JOIN duerow_history.id, duerow_history.id AS id__1, duerow_history.token, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_history ON duerow_history.id = given.id AND duerow_history.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_history
FROM (SELECT found_rows.`id`, found_rows.`token`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS found_rows) AS found
    STRAIGHT_JOIN duerow_history ON duerow_history.id = found.id AND duerow_history.token = found.token

-- statement: history_rows
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.`key`, duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history.`group`,
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.queue = :queue_in AND duerow_history.outcome = :param_1 AND (CASE WHEN CASE WHEN
    (json_type(json_extract(duerow_history.payload, :param_2)) IN ('INTEGER', 'DOUBLE') AND
    (json_extract(duerow_history.payload, :param_2) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_history.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN CAST(json_extract(duerow_history.payload, :param_2) AS SIGNED INTEGER) END
    = :param_3 OR CASE WHEN CASE WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN ('INTEGER',
    'DOUBLE') AND (json_extract(duerow_history.payload, :param_2) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_history.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN NULL WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN
    ('INTEGER', 'DOUBLE') AND (abs(CAST(json_extract(duerow_history.payload, :param_2) AS DOUBLE)) <
    1.7976931348623157e308 OR json_extract(duerow_history.payload, :param_2) IN ('1.7976931348623157e308',
    '-1.7976931348623157e308'))) THEN CAST(json_extract(duerow_history.payload, :param_2) AS DOUBLE) END =
    CAST(:param_4 AS DOUBLE)) AND (CASE WHEN (json_type(json_extract(duerow_history.error, :param_5)) = 'STRING') THEN
    json_unquote(json_extract(duerow_history.error, :param_5)) END COLLATE utf8mb4_nopad_bin) LIKE :param_6 ESCAPE '|'
    AND (duerow_history.finished_at, duerow_history.id, duerow_history.token) < (:param_7, :param_8, :param_9)
ORDER BY duerow_history.finished_at DESC, duerow_history.id DESC, duerow_history.token DESC
LIMIT :limit_in

-- statement: history_rows-ends
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.`key`, duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history.`group`,
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.queue = :queue_in AND duerow_history.id = :param_1 AND duerow_history.outcome != 'failed'
ORDER BY duerow_history.token
LIMIT :limit_in

-- statement: hold_remembered
-- Hold the given keys unless they are remembered, even by a concurrent commit; return the keys held.
INSERT INTO duerow_remembered (queue, `key`, id, until) SELECT given.queue, given.`key`, given.id, :over AS anon_2
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', `id` BIGINT PATH '$[2]')) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.`key` ON DUPLICATE KEY UPDATE id = CASE WHEN (duerow_remembered.until <= UTC_TIMESTAMP(6))
    THEN
VALUES(id) ELSE duerow_remembered.id END, until = CASE WHEN (duerow_remembered.until <= UTC_TIMESTAMP(6)) THEN
VALUES(until) ELSE duerow_remembered.until END
RETURNING duerow_remembered.queue, duerow_remembered.`key`, duerow_remembered.until = :over AS anon_1

-- statement: keep_lapsed
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.`key`, duerow_message.kind,
    duerow_message.payload, duerow_message.headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.attempts, duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, NULL AS anon_1, coalesce(duerow_message.last_attempt_at,
    UTC_TIMESTAMP(6)) AS coalesce_2, duerow_message.leased_until, duerow_message.leased_by, concat('{"message":',
    json_quote(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ',
    coalesce(:attempts_in, 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS concat_1, 'failed',
    timestampadd(MICROSECOND, :history, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_until IS NOT NULL
FOR UPDATE ON DUPLICATE KEY UPDATE until =
VALUES(until)

-- statement: keep_lapsed-buries
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.`key`, duerow_message.kind,
    duerow_message.payload, duerow_message.headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.attempts, duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, CASE WHEN (duerow_message.attempts >= :attempts_in) THEN :to_in END AS
    anon_1, coalesce(duerow_message.last_attempt_at, UTC_TIMESTAMP(6)) AS coalesce_2, duerow_message.leased_until,
    duerow_message.leased_by, concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC,
    attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') AS concat_1, CASE WHEN (duerow_message.attempts >= :attempts_in) THEN
    'dead' ELSE 'failed' END AS anon_2, timestampadd(MICROSECOND, :history, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_until IS NOT NULL
FOR UPDATE ON DUPLICATE KEY UPDATE until =
VALUES(until)

-- statement: keep_parts
-- Write turns of messages that become parts of sets, with their own headers.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.`key`, coalesce(given.kind,
    duerow_message.kind) AS coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2, given.headers,
    duerow_message.`group`, duerow_message.priority, duerow_message.attempts, duerow_message.created_at,
    duerow_message.first_due_at, coalesce(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_3,
    given.moved_to, coalesce(duerow_message.last_attempt_at, UTC_TIMESTAMP(6)) AS coalesce_4, UTC_TIMESTAMP(6) AS
    anon_1, duerow_message.leased_by, given.error, given.outcome, timestampadd(MICROSECOND, :history,
    UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`outcome`, given_rows.`moved_to`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`error`, given_rows.`headers`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `outcome` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `moved_to` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[5]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[6]', `headers` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[7]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE ON DUPLICATE KEY UPDATE until =
VALUES(until)

-- statement: keep_popped
-- Write the turns of picked rows that are about to be popped.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token + 1 AS anon_1, duerow_message.queue, duerow_message.`key`,
    duerow_message.kind, duerow_message.payload, duerow_message.headers, duerow_message.`group`,
    duerow_message.priority, duerow_message.attempts + 1 AS anon_2, duerow_message.created_at,
    duerow_message.first_due_at, duerow_message.due_at, NULL AS anon_3, UTC_TIMESTAMP(6) AS anon_4, UTC_TIMESTAMP(6)
    AS anon__1, NULL AS anon__2, NULL AS anon__3, 'done', timestampadd(MICROSECOND, :history, UTC_TIMESTAMP(6)) AS
    timestampadd_1
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE ON DUPLICATE KEY UPDATE until =
VALUES(until)

-- statement: keep_turns
-- Write the ending turns of rows whose token matches, and lock the rows.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.`key`, coalesce(given.kind,
    duerow_message.kind) AS coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2,
    duerow_message.headers, duerow_message.`group`, duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_3, given.moved_to, coalesce(duerow_message.last_attempt_at,
    UTC_TIMESTAMP(6)) AS coalesce_4, UTC_TIMESTAMP(6) AS anon_1, duerow_message.leased_by, given.error, given.outcome,
    timestampadd(MICROSECOND, :history, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`outcome`, given_rows.`moved_to`, given_rows.`kind`,
    given_rows.`payload`, given_rows.`error`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `outcome` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `moved_to` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]', `kind` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[4]', `payload` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[5]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[6]')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE ON DUPLICATE KEY UPDATE until =
VALUES(until)

-- statement: remember
-- Remember the given keys of messages that have left.
INSERT INTO duerow_remembered (queue, `key`, id, until) SELECT given.queue, given.`key`, given.id,
    timestampadd(MICROSECOND, :keys, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', `id` BIGINT PATH '$[2]')) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.`key` ON DUPLICATE KEY UPDATE id =
VALUES(id), until =
VALUES(until)

-- statement: remember_ended
-- Remember the keys of rows whose token matches and whose turn is ending, and lock the rows.
INSERT INTO duerow_remembered (queue, `key`, id, until) SELECT STRAIGHT_JOIN duerow_message.queue,
    duerow_message.`key`, duerow_message.id, timestampadd(MICROSECOND, :keys, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.`key` IS NOT NULL
ORDER BY duerow_message.queue, duerow_message.`key`
FOR UPDATE ON DUPLICATE KEY UPDATE id =
VALUES(id), until =
VALUES(until)

-- statement: remembered
-- Read the former holders of the given keys, and whether they are still remembered.
SELECT STRAIGHT_JOIN duerow_remembered.queue, duerow_remembered.`key`, duerow_remembered.id, duerow_remembered.until >
    UTC_TIMESTAMP(6) AS still
FROM (SELECT given_rows.`queue`, given_rows.`key`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS given_rows) AS given INNER
JOIN duerow_remembered ON duerow_remembered.queue = given.queue AND duerow_remembered.`key` = given.`key` LOCK IN
    SHARE MODE

-- statement: scan_history
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.`key`, duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history.`group`,
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.id <= :last AND (coalesce(duerow_history.queue, '') IN :queues_value) AND duerow_history.outcome
    = :param_1 AND (CASE WHEN CASE WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN ('INTEGER',
    'DOUBLE') AND (json_extract(duerow_history.payload, :param_2) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_history.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN CAST(json_extract(duerow_history.payload, :param_2) AS SIGNED INTEGER) END
    = :param_3 OR CASE WHEN CASE WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN ('INTEGER',
    'DOUBLE') AND (json_extract(duerow_history.payload, :param_2) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_history.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN NULL WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN
    ('INTEGER', 'DOUBLE') AND (abs(CAST(json_extract(duerow_history.payload, :param_2) AS DOUBLE)) <
    1.7976931348623157e308 OR json_extract(duerow_history.payload, :param_2) IN ('1.7976931348623157e308',
    '-1.7976931348623157e308'))) THEN CAST(json_extract(duerow_history.payload, :param_2) AS DOUBLE) END =
    CAST(:param_4 AS DOUBLE)) AND (CASE WHEN (json_type(json_extract(duerow_history.error, :param_5)) = 'STRING') THEN
    json_unquote(json_extract(duerow_history.error, :param_5)) END COLLATE utf8mb4_nopad_bin) LIKE :param_6 ESCAPE '|'
    AND (duerow_history.id, duerow_history.token) > (:after, :after_token)
ORDER BY duerow_history.id, duerow_history.token
LIMIT :limit_in

-- statement: scan_history-descending
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT duerow_history.id
FROM duerow_history
WHERE duerow_history.id <= :last
ORDER BY duerow_history.id DESC, duerow_history.token DESC
LIMIT :limit_in
