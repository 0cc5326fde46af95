-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, (sms_message.sending_token + 1) - 1 AS anon_1, sms_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `error` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until AND (sms_message.id IN :found)
SET sms_message.sending_status = 'dead', sms_message.sending_due_at = NULL, sms_message.sending_last_error =
    coalesce(given.error, sms_message.sending_last_error), sms_message.sending_finished_at = CAST(:told AS
    DATETIME(6)), sms_message.sending_token = sms_message.sending_token + 1, sms_message.sending_leased_by = NULL,
    sms_message.sending_leased_until = NULL

-- statement: commit
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, (sms_message.sending_token + 1) - 1 AS anon_1, sms_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ sms_message FORCE INDEX
    (PRIMARY)
SET sms_message.sending_status = 'done', sms_message.sending_due_at = NULL, sms_message.sending_last_error = NULL,
    sms_message.sending_finished_at = CAST(:told AS DATETIME(6)), sms_message.sending_token =
    sms_message.sending_token + 1, sms_message.sending_leased_by = NULL, sms_message.sending_leased_until = NULL
WHERE sms_message.id IN :found

-- statement: commit-deletes
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, sms_message.sending_token, sms_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ sms_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN sms_message ON sms_message.id = found.id

-- statement: commit-deletes-key_of_two
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
SELECT STRAIGHT_JOIN shipment.tenant, shipment.number, shipment.sending_token, shipment.tenant AS tenant__1,
    shipment.number AS number__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id_1`, given_rows.`id_2`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id_1` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `id_2` BIGINT PATH '$[1]', `token` BIGINT PATH '$[2]', nth_given FOR ORDINALITY)) AS
    given_rows) AS given INNER
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND shipment.sending_token =
    given.token AND shipment.sending_due_at = shipment.sending_leased_until
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ shipment
FROM (SELECT found_rows.`tenant`, found_rows.`number`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`tenant` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `number` BIGINT PATH '$[1]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    shipment ON shipment.tenant = found.tenant AND shipment.number = found.number

-- statement: commit-deletes-key_of_two-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
SELECT STRAIGHT_JOIN shipment.tenant, shipment.number, shipment.sending_token, shipment.tenant AS tenant__1,
    shipment.number AS number__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id_2`, CONVERT(:given_id_1
USING ascii) AS `id_1`, CAST(:given_token AS SIGNED) AS `token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id_2` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    INNER
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND shipment.sending_token =
    given.token AND shipment.sending_due_at = shipment.sending_leased_until
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ shipment
FROM (SELECT found_rows.`tenant`, found_rows.`number`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`tenant` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `number` BIGINT PATH '$[1]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    shipment ON shipment.tenant = found.tenant AND shipment.number = found.number

-- statement: commit-deletes-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, sms_message.sending_token, sms_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, CAST(:given_token AS SIGNED) AS `token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ sms_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN sms_message ON sms_message.id = found.id

-- statement: extend
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
SELECT STRAIGHT_JOIN sms_message.id, sms_message.sending_token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, sms_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE OF sms_message SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ sms_message FORCE INDEX
    (PRIMARY)
SET sms_message.sending_due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))),
    sms_message.sending_leased_until = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE sms_message.id IN :found

-- statement: extend-key_of_two
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
SELECT STRAIGHT_JOIN shipment.tenant, shipment.number, shipment.sending_token, timestampadd(MICROSECOND, :lease,
    UTC_TIMESTAMP(6)) AS timestampadd_1, shipment.tenant AS tenant__1, shipment.number AS number__1, UTC_TIMESTAMP(6)
    AS anon_1
FROM (SELECT given_rows.`id_1`, given_rows.`id_2`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id_1` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `id_2` BIGINT PATH '$[1]', `token` BIGINT PATH '$[2]', nth_given FOR ORDINALITY)) AS
    given_rows) AS given INNER
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND shipment.sending_token =
    given.token AND shipment.sending_due_at = shipment.sending_leased_until
FOR UPDATE OF shipment SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`tenant`,
    found_rows.`number`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`tenant` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `number` BIGINT PATH '$[1]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    shipment ON shipment.tenant = found.tenant AND shipment.number = found.number
SET shipment.sending_due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))),
    shipment.sending_leased_until = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))

-- statement: extend-of_one
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
SELECT STRAIGHT_JOIN sms_message.id, sms_message.sending_token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, sms_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT CAST(:given_id AS SIGNED) AS `id`, CAST(:given_token AS SIGNED) AS `token`, 1 AS nth_given) AS given
    INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE OF sms_message SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ sms_message FORCE INDEX
    (PRIMARY)
SET sms_message.sending_due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))),
    sms_message.sending_leased_until = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE sms_message.id IN :found

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
SELECT STRAIGHT_JOIN sms_message.id, sms_message.sending_token, timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6)) AS
    timestampadd_1, sms_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, CAST(:given_token AS SIGNED) AS `token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE OF sms_message SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ sms_message FORCE INDEX
    (PRIMARY)
SET sms_message.sending_due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))),
    sms_message.sending_leased_until = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
WHERE sms_message.id IN :found

-- statement: kept
-- Read id, token and lease end of the rows whose token and due time match.
SELECT STRAIGHT_JOIN sms_message.id, sms_message.sending_token, sms_message.sending_leased_until
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: named
-- Read rows by their ids.
SELECT STRAIGHT_JOIN sms_message.id, 'sms_message.sending', 'null', 'json', NULL AS anon_1, NULL AS anon__1, NULL AS
    anon__2, 0, sms_message.sending_status, sms_message.sending_due_at, coalesce(sms_message.sending_first_due_at,
    sms_message.sending_due_at, sms_message.sending_place_at, UTC_TIMESTAMP(6)) AS coalesce_1,
    sms_message.sending_attempts, sms_message.sending_token, CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN sms_message.sending_leased_by END AS anon_2, CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until) THEN sms_message.sending_leased_until END AS
    anon_3, coalesce(sms_message.sending_first_due_at, sms_message.sending_due_at, sms_message.sending_place_at,
    UTC_TIMESTAMP(6)) AS coalesce__1, sms_message.sending_last_attempt_at, sms_message.sending_last_error
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id

-- statement: next_due
-- Read when the next row becomes due, from the bound `floor` on, and the current time. Rows have no
-- kinds.
SELECT given.queue, (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= :floor) AS anon_1, UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`queue`, given_rows.`grouped`, given_rows.`priority`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `grouped` BIGINT PATH '$[1]', `priority` BIGINT PATH '$[2]',
    nth_given FOR ORDINALITY)) AS given_rows) AS given

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
SELECT STRAIGHT_JOIN sms_message.id, (sms_message.sending_token + 1) - 1 AS anon_1, sms_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`due`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`due`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `due` DATETIME(6) PATH
    '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN sms_message ON sms_message.id = given.id
    AND sms_message.sending_token = given.token AND sms_message.sending_due_at = sms_message.sending_leased_until AND
    (sms_message.id IN :found)
SET sms_message.sending_due_at = coalesce(given.due, sms_message.sending_place_at, sms_message.sending_first_due_at),
    sms_message.sending_attempts = sms_message.sending_attempts - 1, sms_message.sending_token =
    sms_message.sending_token + 1, sms_message.sending_leased_by = NULL, sms_message.sending_leased_until = NULL

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
SELECT sms_message.id, 'null', 'json', NULL AS anon_1, NULL AS anon__1, CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN
    (sms_message.sending_status = 'dead') THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE
    sms_message.sending_status END END AS anon_2, coalesce(sms_message.sending_first_due_at,
    sms_message.sending_due_at) AS coalesce_1, NULL AS anon__2, sms_message.sending_due_at,
    (sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN 0 ELSE 1 END) AS anon_3, (sms_message.sending_token + 1) AS
    anon_4, timestampdiff(MICROSECOND, '1970-01-01', timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS
    timestampdiff_1, CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN
    concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    sms_message.sending_leased_by, ' ended at ', date_format(sms_message.sending_leased_until, '%Y-%m-%d %H:%i:%s'), '
    UTC, attempt ', sms_message.sending_attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END AS anon_5, sms_message.id AS
    id__1, sms_message.sending_attempts, sms_message.sending_due_at AS sending_due_at__1, UTC_TIMESTAMP(6) AS anon_6
FROM sms_message FORCE INDEX (ix_sms_message_sending_due)
WHERE sms_message.sending_due_at <= UTC_TIMESTAMP(6)
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`id`,
    found_rows.`sending_attempts`, found_rows.`sending_due_at`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `sending_attempts` BIGINT PATH '$[1]',
    `sending_due_at` DATETIME(6) PATH '$[2]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    sms_message ON sms_message.id = found.id
SET sms_message.sending_status = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status = 'dead') THEN
    'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END END,
    sms_message.sending_due_at = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END, sms_message.sending_place_at = found.sending_due_at, sms_message.sending_attempts =
    found.sending_attempts + CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN 0 ELSE 1 END, sms_message.sending_token = sms_message.sending_token +
    1, sms_message.sending_last_attempt_at = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN sms_message.sending_last_attempt_at ELSE CAST(:told AS DATETIME(6))
    END, sms_message.sending_last_error = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until) THEN
    concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    sms_message.sending_leased_by, ' ended at ', date_format(sms_message.sending_leased_until, '%Y-%m-%d %H:%i:%s'), '
    UTC, attempt ', found.sending_attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END, sms_message.sending_finished_at
    = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND found.sending_attempts >= :attempts_in)
    THEN CAST(:told AS DATETIME(6)) ELSE NULL END, sms_message.sending_leased_by = CASE WHEN (found.sending_due_at =
    sms_message.sending_leased_until AND found.sending_attempts >= :attempts_in) THEN NULL ELSE :consumer END,
    sms_message.sending_leased_until = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
SELECT sms_message.id, 'null', 'json', NULL AS anon_1, NULL AS anon__1, CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN
    (sms_message.sending_status = 'dead') THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE
    sms_message.sending_status END END AS anon_2, coalesce(sms_message.sending_first_due_at,
    sms_message.sending_due_at) AS coalesce_1, NULL AS anon__2, sms_message.sending_due_at,
    (sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN 0 ELSE 1 END) AS anon_3, (sms_message.sending_token + 1) AS
    anon_4, timestampdiff(MICROSECOND, '1970-01-01', timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS
    timestampdiff_1, CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN
    concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    sms_message.sending_leased_by, ' ended at ', date_format(sms_message.sending_leased_until, '%Y-%m-%d %H:%i:%s'), '
    UTC, attempt ', sms_message.sending_attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END AS anon_5, sms_message.id AS
    id__1, sms_message.sending_attempts, sms_message.sending_due_at AS sending_due_at__1, UTC_TIMESTAMP(6) AS anon_6
FROM sms_message FORCE INDEX (ix_sms_message_sending_due)
WHERE sms_message.sending_due_at <= UTC_TIMESTAMP(6) AND sms_message.sending_due_at >= :floor
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`id`,
    found_rows.`sending_attempts`, found_rows.`sending_due_at`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `sending_attempts` BIGINT PATH '$[1]',
    `sending_due_at` DATETIME(6) PATH '$[2]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    sms_message ON sms_message.id = found.id
SET sms_message.sending_status = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status = 'dead') THEN
    'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END END,
    sms_message.sending_due_at = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END, sms_message.sending_place_at = found.sending_due_at, sms_message.sending_attempts =
    found.sending_attempts + CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN 0 ELSE 1 END, sms_message.sending_token = sms_message.sending_token +
    1, sms_message.sending_last_attempt_at = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN sms_message.sending_last_attempt_at ELSE CAST(:told AS DATETIME(6))
    END, sms_message.sending_last_error = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until) THEN
    concat('{"message":', json_quote(concat('was in hand when its worker died: lease of ',
    sms_message.sending_leased_by, ' ended at ', date_format(sms_message.sending_leased_until, '%Y-%m-%d %H:%i:%s'), '
    UTC, attempt ', found.sending_attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END, sms_message.sending_finished_at
    = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND found.sending_attempts >= :attempts_in)
    THEN CAST(:told AS DATETIME(6)) ELSE NULL END, sms_message.sending_leased_by = CASE WHEN (found.sending_due_at =
    sms_message.sending_leased_until AND found.sending_attempts >= :attempts_in) THEN NULL ELSE :consumer END,
    sms_message.sending_leased_until = CASE WHEN (found.sending_due_at = sms_message.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END

-- statement: reserve-key_of_two
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
SELECT shipment.tenant, shipment.number, 'null', 'json', NULL AS anon_1, NULL AS anon__1, CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN
    'dead' ELSE CASE WHEN (shipment.sending_status = 'dead') THEN 'error' WHEN (shipment.sending_status = 'done') THEN
    'new' ELSE shipment.sending_status END END AS anon_2, coalesce(shipment.sending_first_due_at,
    shipment.sending_due_at) AS coalesce_1, NULL AS anon__2, shipment.sending_due_at, (shipment.sending_attempts +
    CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in)
    THEN 0 ELSE 1 END) AS anon_3, (shipment.sending_token + 1) AS anon_4, timestampdiff(MICROSECOND, '1970-01-01',
    timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS timestampdiff_1, CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until) THEN concat('{"message":', json_quote(concat('was in hand when its worker died:
    lease of ', shipment.sending_leased_by, ' ended at ', date_format(shipment.sending_leased_until, '%Y-%m-%d
    %H:%i:%s'), ' UTC, attempt ', shipment.sending_attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE shipment.sending_last_error END AS anon_5, shipment.tenant AS
    tenant__1, shipment.number AS number__1, shipment.sending_attempts, shipment.sending_due_at AS sending_due_at__1,
    UTC_TIMESTAMP(6) AS anon_6
FROM shipment FORCE INDEX (ix_shipment_sending_due)
WHERE shipment.sending_due_at <= UTC_TIMESTAMP(6)
ORDER BY shipment.sending_due_at, shipment.tenant, shipment.number
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT found_rows.`tenant`,
    found_rows.`number`, found_rows.`sending_attempts`, found_rows.`sending_due_at`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`tenant` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `number` BIGINT PATH '$[1]', `sending_attempts` BIGINT PATH '$[2]', `sending_due_at`
    DATETIME(6) PATH '$[3]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN shipment ON
    shipment.tenant = found.tenant AND shipment.number = found.number
SET shipment.sending_status = CASE WHEN (found.sending_due_at = shipment.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (shipment.sending_status = 'dead') THEN 'error'
    WHEN (shipment.sending_status = 'done') THEN 'new' ELSE shipment.sending_status END END, shipment.sending_due_at =
    CASE WHEN (found.sending_due_at = shipment.sending_leased_until AND found.sending_attempts >= :attempts_in) THEN
    NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END, shipment.sending_place_at =
    found.sending_due_at, shipment.sending_attempts = found.sending_attempts + CASE WHEN (found.sending_due_at =
    shipment.sending_leased_until AND found.sending_attempts >= :attempts_in) THEN 0 ELSE 1 END,
    shipment.sending_token = shipment.sending_token + 1, shipment.sending_last_attempt_at = CASE WHEN
    (found.sending_due_at = shipment.sending_leased_until AND found.sending_attempts >= :attempts_in) THEN
    shipment.sending_last_attempt_at ELSE CAST(:told AS DATETIME(6)) END, shipment.sending_last_error = CASE WHEN
    (found.sending_due_at = shipment.sending_leased_until) THEN concat('{"message":', json_quote(concat('was in hand
    when its worker died: lease of ', shipment.sending_leased_by, ' ended at ',
    date_format(shipment.sending_leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', found.sending_attempts, ' of ',
    coalesce(:attempts_in, 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') ELSE shipment.sending_last_error
    END, shipment.sending_finished_at = CASE WHEN (found.sending_due_at = shipment.sending_leased_until AND
    found.sending_attempts >= :attempts_in) THEN CAST(:told AS DATETIME(6)) ELSE NULL END, shipment.sending_leased_by
    = CASE WHEN (found.sending_due_at = shipment.sending_leased_until AND found.sending_attempts >= :attempts_in) THEN
    NULL ELSE :consumer END, shipment.sending_leased_until = CASE WHEN (found.sending_due_at =
    shipment.sending_leased_until AND found.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND,
    :lease, CAST(:told AS DATETIME(6))) END

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
SELECT STRAIGHT_JOIN sms_message.id, (sms_message.sending_token + 1) - 1 AS anon_1, sms_message.id AS id__1,
    UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.`delay`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `delay` BIGINT PATH
    '$[2]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.`token`, given_rows.`delay`, given_rows.`error`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', `delay` BIGINT PATH
    '$[2]', `error` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[3]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until AND (sms_message.id IN :found)
SET sms_message.sending_status = 'error', sms_message.sending_due_at = timestampadd(MICROSECOND, given.delay,
    CAST(:told AS DATETIME(6))), sms_message.sending_last_error = coalesce(given.error,
    sms_message.sending_last_error), sms_message.sending_token = sms_message.sending_token + 1,
    sms_message.sending_leased_by = NULL, sms_message.sending_leased_until = NULL
