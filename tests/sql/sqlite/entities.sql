-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE sms_message
SET sending_status='dead', sending_due_at=NULL, sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL,
    sending_leased_until=NULL, sending_last_error=coalesce(given.error, sms_message.sending_last_error),
    sending_finished_at=:now
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS error
FROM json_each(:given) AS given_rows) AS given
WHERE sms_message.id = given.id AND sms_message.sending_token = given.token AND sms_message.sending_due_at =
    sms_message.sending_leased_until
RETURNING id, sending_token - 1 AS anon_1

-- statement: commit
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
UPDATE sms_message
SET sending_status='done', sending_due_at=NULL, sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL,
    sending_leased_until=NULL, sending_last_error=NULL, sending_finished_at=:now
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
WHERE sms_message.id = given.id AND sms_message.sending_token = given.token AND sms_message.sending_due_at =
    sms_message.sending_leased_until
RETURNING id, sending_token - 1 AS anon_1

-- statement: commit-deletes
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM sms_message
WHERE sms_message.sending_due_at = sms_message.sending_leased_until AND (sms_message.id, sms_message.sending_token) IN
    (SELECT given.id, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, sending_token

-- statement: commit-deletes-key_of_two
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM shipment
WHERE shipment.sending_due_at = shipment.sending_leased_until AND (shipment.tenant, shipment.number,
    shipment.sending_token) IN (SELECT given.id_1, given.id_2, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id_1, json_extract(given_rows.value, '$[1]') AS id_2,
    json_extract(given_rows.value, '$[2]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING tenant, number, sending_token

-- statement: commit-deletes-key_of_two-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM shipment
WHERE shipment.sending_due_at = shipment.sending_leased_until AND (shipment.tenant, shipment.number,
    shipment.sending_token) IN (SELECT given.id_1, given.id_2, given.token
FROM (SELECT given_rows.value AS id_2, :given_id_1 AS id_1, :given_token AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING tenant, number, sending_token

-- statement: commit-deletes-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM sms_message
WHERE sms_message.sending_due_at = sms_message.sending_leased_until AND (sms_message.id, sms_message.sending_token) IN
    (SELECT given.id, given.token
FROM (SELECT given_rows.value AS id, :given_token AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, sending_token

-- statement: extend
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until) UPDATE sms_message
SET sending_due_at=(:now + :lease), sending_leased_until=(:now + :lease)
FROM free
WHERE sms_message.id = free.id
RETURNING id, sending_token, sending_leased_until

-- statement: extend-key_of_two
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT shipment.tenant AS tenant, shipment.number AS number
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id_1, json_extract(given_rows.value, '$[1]') AS id_2,
    json_extract(given_rows.value, '$[2]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND shipment.sending_token =
    given.token AND shipment.sending_due_at = shipment.sending_leased_until) UPDATE shipment
SET sending_due_at=(:now + :lease), sending_leased_until=(:now + :lease)
FROM free
WHERE shipment.tenant = free.tenant AND shipment.number = free.number
RETURNING tenant, number, sending_token, sending_leased_until

-- statement: extend-of_one
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM (SELECT :given_id AS id, :given_token AS token) AS given
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until) UPDATE sms_message
SET sending_due_at=(:now + :lease), sending_leased_until=(:now + :lease)
FROM free
WHERE sms_message.id = free.id
RETURNING id, sending_token, sending_leased_until

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM (SELECT given_rows.value AS id, :given_token AS token
FROM json_each(:given) AS given_rows) AS given
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until) UPDATE sms_message
SET sending_due_at=(:now + :lease), sending_leased_until=(:now + :lease)
FROM free
WHERE sms_message.id = free.id
RETURNING id, sending_token, sending_leased_until

-- statement: kept
-- Read id, token and lease end of the rows whose token and due time match.
SELECT sms_message.id, sms_message.sending_token, sms_message.sending_leased_until
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN sms_message ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: named
-- Read rows by their ids.
SELECT sms_message.id, 'sms_message.sending', 'null', 'json', NULL AS anon_1, NULL AS anon__1, NULL AS anon__2, 0,
    sms_message.sending_status, sms_message.sending_due_at, coalesce(sms_message.sending_first_due_at,
    sms_message.sending_due_at, sms_message.sending_place_at, :now) AS coalesce_1, sms_message.sending_attempts,
    sms_message.sending_token, CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN
    sms_message.sending_leased_by END AS anon_2, CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN sms_message.sending_leased_until END AS anon_3,
    coalesce(sms_message.sending_first_due_at, sms_message.sending_due_at, sms_message.sending_place_at, :now) AS
    coalesce__1, sms_message.sending_last_attempt_at, sms_message.sending_last_error
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN sms_message ON sms_message.id = given.id

-- statement: next_due
-- Read when the next row becomes due, from the bound `floor` on, and the current time. Rows have no
-- kinds.
SELECT given.queue, (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= :floor) AS anon_1, :now AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS grouped,
    json_extract(given_rows.value, '$[2]') AS priority
FROM json_each(:given) AS given_rows) AS given

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE sms_message
SET sending_due_at=coalesce(given.due, sms_message.sending_place_at, sms_message.sending_first_due_at),
    sending_attempts=(sms_message.sending_attempts - 1), sending_token=(sms_message.sending_token + 1),
    sending_leased_by=NULL, sending_leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS due
FROM json_each(:given) AS given_rows) AS given
WHERE sms_message.id = given.id AND sms_message.sending_token = given.token AND sms_message.sending_due_at =
    sms_message.sending_leased_until
RETURNING id, sending_token - 1 AS anon_1

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
UPDATE sms_message
SET sending_status=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status = 'dead')
    THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END END,
    sending_due_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN NULL ELSE :now + :lease END,
    sending_place_at=sms_message.sending_due_at, sending_attempts=(sms_message.sending_attempts + CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in)
    THEN 0 ELSE 1 END), sending_token=(sms_message.sending_token + 1), sending_leased_by=CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in)
    THEN NULL ELSE :consumer END, sending_leased_until=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN NULL ELSE :now + :lease
    END, sending_last_attempt_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN sms_message.sending_last_attempt_at ELSE :now END,
    sending_last_error=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN
    json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    sms_message.sending_leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', sms_message.sending_leased_until /
    1000000, 'unixepoch') || ' UTC, attempt ' || CAST(sms_message.sending_attempts AS TEXT) || ' of ' ||
    coalesce(CAST(:attempts_in AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE
    sms_message.sending_last_error END, sending_finished_at=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN :now ELSE NULL END
WHERE sms_message.id IN (SELECT sms_message.id
FROM sms_message
WHERE sms_message.sending_due_at <= :now
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, 'null', 'json', NULL AS anon_1, NULL AS anon__1, sending_status, coalesce(sending_first_due_at,
    sending_place_at) AS coalesce_1, NULL AS anon__2, sending_place_at, sending_attempts, sending_token, :now + :lease
    AS anon_2, sending_last_error

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
UPDATE sms_message
SET sending_status=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status = 'dead')
    THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END END,
    sending_due_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN NULL ELSE :now + :lease END,
    sending_place_at=sms_message.sending_due_at, sending_attempts=(sms_message.sending_attempts + CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in)
    THEN 0 ELSE 1 END), sending_token=(sms_message.sending_token + 1), sending_leased_by=CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in)
    THEN NULL ELSE :consumer END, sending_leased_until=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN NULL ELSE :now + :lease
    END, sending_last_attempt_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN sms_message.sending_last_attempt_at ELSE :now END,
    sending_last_error=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN
    json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    sms_message.sending_leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', sms_message.sending_leased_until /
    1000000, 'unixepoch') || ' UTC, attempt ' || CAST(sms_message.sending_attempts AS TEXT) || ' of ' ||
    coalesce(CAST(:attempts_in AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE
    sms_message.sending_last_error END, sending_finished_at=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN :now ELSE NULL END
WHERE sms_message.id IN (SELECT sms_message.id
FROM sms_message
WHERE sms_message.sending_due_at <= :now AND sms_message.sending_due_at >= :floor
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, 'null', 'json', NULL AS anon_1, NULL AS anon__1, sending_status, coalesce(sending_first_due_at,
    sending_place_at) AS coalesce_1, NULL AS anon__2, sending_place_at, sending_attempts, sending_token, :now + :lease
    AS anon_2, sending_last_error

-- statement: reserve-key_of_two
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
UPDATE shipment
SET sending_status=CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >=
    :attempts_in) THEN 'dead' ELSE CASE WHEN (shipment.sending_status = 'dead') THEN 'error' WHEN
    (shipment.sending_status = 'done') THEN 'new' ELSE shipment.sending_status END END, sending_due_at=CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN NULL
    ELSE :now + :lease END, sending_place_at=shipment.sending_due_at, sending_attempts=(shipment.sending_attempts +
    CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in)
    THEN 0 ELSE 1 END), sending_token=(shipment.sending_token + 1), sending_leased_by=CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN NULL
    ELSE :consumer END, sending_leased_until=CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= :attempts_in) THEN NULL ELSE :now + :lease END, sending_last_attempt_at=CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN
    shipment.sending_last_attempt_at ELSE :now END, sending_last_error=CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until) THEN json_object('message', CAST('was in hand when its worker died: lease of ' AS
    TEXT) || shipment.sending_leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', shipment.sending_leased_until
    / 1000000, 'unixepoch') || ' UTC, attempt ' || CAST(shipment.sending_attempts AS TEXT) || ' of ' ||
    coalesce(CAST(:attempts_in AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE
    shipment.sending_last_error END, sending_finished_at=CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN :now ELSE NULL END
WHERE (shipment.tenant, shipment.number) IN (SELECT shipment.tenant, shipment.number
FROM shipment
WHERE shipment.sending_due_at <= :now
ORDER BY shipment.sending_due_at, shipment.tenant, shipment.number
LIMIT :limit_in OFFSET :param_1)
RETURNING tenant, number, 'null', 'json', NULL AS anon_1, NULL AS anon__1, sending_status,
    coalesce(sending_first_due_at, sending_place_at) AS coalesce_1, NULL AS anon__2, sending_place_at,
    sending_attempts, sending_token, :now + :lease AS anon_2, sending_last_error

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
UPDATE sms_message
SET sending_status='error', sending_due_at=(:now + given.delay), sending_token=(sms_message.sending_token + 1),
    sending_leased_by=NULL, sending_leased_until=NULL, sending_last_error=coalesce(given.error,
    sms_message.sending_last_error)
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS delay, json_extract(given_rows.value, '$[3]') AS error
FROM json_each(:given) AS given_rows) AS given
WHERE sms_message.id = given.id AND sms_message.sending_token = given.token AND sms_message.sending_due_at =
    sms_message.sending_leased_until
RETURNING id, sending_token - 1 AS anon_1
