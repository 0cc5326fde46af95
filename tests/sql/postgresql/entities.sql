-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE sms_message
SET sending_status='dead', sending_due_at=NULL, sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL,
    sending_leased_until=NULL, sending_last_error=coalesce(CAST(given.error AS JSON), sms_message.sending_last_error),
    sending_finished_at=statement_timestamp()
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS error) AS given
WHERE sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE
    false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token - 1 AS anon_1

-- statement: commit
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
UPDATE sms_message
SET sending_status='done', sending_due_at=NULL, sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL,
    sending_leased_until=NULL, sending_last_error=NULL, sending_finished_at=statement_timestamp()
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
WHERE sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE
    false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token - 1 AS anon_1

-- statement: commit-deletes
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM sms_message
USING (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
WHERE CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END AND
    sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE
    false END
RETURNING sms_message.id, sms_message.sending_token

-- statement: commit-deletes-key_of_two
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM shipment
USING (SELECT unnest(CAST((SELECT CAST(CAST(:given_id_1::VARCHAR AS TEXT) AS UUID[])) AS UUID[])) AS id_1,
    unnest(CAST((SELECT CAST(CAST(:given_id_2::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AS id_2,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
WHERE CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until) THEN true ELSE false END AND shipment.tenant
    = ANY (ARRAY[given.id_1]) AND shipment.number = ANY (ARRAY[given.id_2]) AND CASE WHEN (shipment.sending_token =
    given.token) THEN true ELSE false END
RETURNING shipment.tenant, shipment.number, shipment.sending_token

-- statement: commit-deletes-key_of_two-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM shipment
WHERE CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until) THEN true ELSE false END AND shipment.tenant
    = ANY (ARRAY[CAST(:given_id_1::UUID AS UUID)]) AND shipment.number = ANY (CAST((SELECT
    CAST(CAST(:given_id_2::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AND CASE WHEN (shipment.sending_token =
    CAST(:given_token::BIGINT AS BIGINT)) THEN true ELSE false END
RETURNING shipment.tenant, shipment.number, shipment.sending_token

-- statement: commit-deletes-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM sms_message
WHERE CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END AND
    sms_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AND CASE WHEN
    (sms_message.sending_token = CAST(:given_token::BIGINT AS BIGINT)) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token

-- statement: extend
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
JOIN sms_message ON sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token)
    THEN true ELSE false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true
    ELSE false END FOR NO KEY UPDATE OF sms_message SKIP LOCKED) UPDATE sms_message
SET sending_due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')),
    sending_leased_until=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM free
WHERE sms_message.id = ANY (ARRAY[free.id])
RETURNING sms_message.id, sms_message.sending_token, sms_message.sending_leased_until

-- statement: extend-key_of_two
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT shipment.tenant AS tenant, shipment.number AS number
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id_1::VARCHAR AS TEXT) AS UUID[])) AS UUID[])) AS id_1,
    unnest(CAST((SELECT CAST(CAST(:given_id_2::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AS id_2,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
JOIN shipment ON shipment.tenant = ANY (ARRAY[given.id_1]) AND shipment.number = ANY (ARRAY[given.id_2]) AND CASE WHEN
    (shipment.sending_token = given.token) THEN true ELSE false END AND CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until) THEN true ELSE false END FOR NO KEY UPDATE OF shipment SKIP LOCKED) UPDATE shipment
SET sending_due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')),
    sending_leased_until=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM free
WHERE shipment.tenant = ANY (ARRAY[free.tenant]) AND shipment.number = ANY (ARRAY[free.number])
RETURNING shipment.tenant, shipment.number, shipment.sending_token, shipment.sending_leased_until

-- statement: extend-of_one
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM (SELECT CAST(:given_id::BIGINT AS BIGINT) AS id, CAST(:given_token::BIGINT AS BIGINT) AS token) AS given
JOIN sms_message ON sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token)
    THEN true ELSE false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true
    ELSE false END FOR NO KEY UPDATE OF sms_message SKIP LOCKED) UPDATE sms_message
SET sending_due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')),
    sending_leased_until=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM free
WHERE sms_message.id = ANY (ARRAY[free.id])
RETURNING sms_message.id, sms_message.sending_token, sms_message.sending_leased_until

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
WITH free AS (SELECT sms_message.id AS id
FROM (SELECT given_rows.id AS id, CAST(:given_token::BIGINT AS BIGINT) AS token
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS
    given_rows) AS given
JOIN sms_message ON sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token)
    THEN true ELSE false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true
    ELSE false END FOR NO KEY UPDATE OF sms_message SKIP LOCKED) UPDATE sms_message
SET sending_due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')),
    sending_leased_until=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM free
WHERE sms_message.id = ANY (ARRAY[free.id])
RETURNING sms_message.id, sms_message.sending_token, sms_message.sending_leased_until

-- statement: kept
-- Read id, token and lease end of the rows whose token and due time match.
SELECT sms_message.id, sms_message.sending_token, sms_message.sending_leased_until
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
JOIN sms_message ON sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token)
    THEN true ELSE false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true
    ELSE false END

-- statement: named
-- Read rows by their ids.
SELECT sms_message.id, 'sms_message.sending', 'null', 'json', NULL AS anon_1, NULL AS anon__1, NULL AS anon__2, 0,
    sms_message.sending_status, sms_message.sending_due_at, coalesce(sms_message.sending_first_due_at,
    sms_message.sending_due_at, sms_message.sending_place_at, statement_timestamp()) AS coalesce_1,
    sms_message.sending_attempts, sms_message.sending_token, CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN sms_message.sending_leased_by END AS anon_2, CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until) THEN sms_message.sending_leased_until END AS
    anon_3, coalesce(sms_message.sending_first_due_at, sms_message.sending_due_at, sms_message.sending_place_at,
    statement_timestamp()) AS coalesce__1, sms_message.sending_last_attempt_at, CAST(sms_message.sending_last_error AS
    TEXT) AS sending_last_error
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
JOIN sms_message ON sms_message.id = ANY (ARRAY[given.id])

-- statement: next_due
-- Read when the next row becomes due, from the bound `floor` on, and the current time. Rows have no
-- kinds.
SELECT given.queue, (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= (SELECT :floor::TIMESTAMP WITH TIME ZONE)) AS anon_1, statement_timestamp() AS
    statement_timestamp_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_grouped::VARCHAR AS TEXT) AS BOOLEAN[])) AS BOOLEAN[])) AS grouped,
    unnest(CAST((SELECT CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority) AS
    given

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE sms_message
SET sending_due_at=coalesce(given.due, sms_message.sending_place_at, sms_message.sending_first_due_at),
    sending_attempts=(sms_message.sending_attempts - 1), sending_token=(sms_message.sending_token + 1),
    sending_leased_by=NULL, sending_leased_until=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME
    ZONE[])) AS due) AS given
WHERE sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE
    false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token - 1 AS anon_1

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
WITH first_due AS (SELECT min(oldest.sending_due_at) AS due_at
FROM sms_message AS oldest
WHERE oldest.sending_due_at <= statement_timestamp()) UPDATE sms_message
SET sending_status=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in::INTEGER) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status =
    'dead') THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END
    END, sending_due_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT *
    INTERVAL '1 microsecond') END, sending_place_at=sms_message.sending_due_at,
    sending_attempts=(sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in::INTEGER) THEN 0 ELSE 1 END),
    sending_token=(sms_message.sending_token + 1), sending_leased_by=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in::INTEGER) THEN NULL ELSE
    :consumer::VARCHAR END, sending_leased_until=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in::INTEGER) THEN NULL ELSE
    statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END, sending_last_attempt_at=CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >=
    :attempts_in::INTEGER) THEN sms_message.sending_last_attempt_at ELSE statement_timestamp() END,
    sending_last_error=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN
    CAST(concat('{"message":', to_json(concat('was in hand when its worker died: lease of ',
    sms_message.sending_leased_by, ' ended at ', to_char(timezone('UTC', sms_message.sending_leased_until), 'YYYY-MM-
    DD HH24:MI:SS'), ' UTC, attempt ', sms_message.sending_attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS
    TEXT), 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS JSON) ELSE sms_message.sending_last_error
    END, sending_finished_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in::INTEGER) THEN statement_timestamp() ELSE NULL END
WHERE sms_message.id = ANY (array((SELECT sms_message.id
FROM sms_message
WHERE sms_message.sending_due_at <= statement_timestamp() AND sms_message.sending_due_at >= (SELECT first_due.due_at
FROM first_due)
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT (SELECT :limit_in::INTEGER) FOR NO KEY UPDATE SKIP LOCKED)))
RETURNING sms_message.id, 'null', 'json', NULL AS anon_1, NULL AS anon__1, sms_message.sending_status,
    coalesce(sms_message.sending_first_due_at, sms_message.sending_place_at) AS coalesce_1, NULL AS anon__2,
    sms_message.sending_place_at, sms_message.sending_attempts, sms_message.sending_token, (SELECT CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_3) AS anon_2, CAST(sms_message.sending_last_error AS TEXT) AS
    sending_last_error, (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_5) AS anon_4

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
UPDATE sms_message
SET sending_status=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in::INTEGER) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status =
    'dead') THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END
    END, sending_due_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT *
    INTERVAL '1 microsecond') END, sending_place_at=sms_message.sending_due_at,
    sending_attempts=(sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in::INTEGER) THEN 0 ELSE 1 END),
    sending_token=(sms_message.sending_token + 1), sending_leased_by=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in::INTEGER) THEN NULL ELSE
    :consumer::VARCHAR END, sending_leased_until=CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in::INTEGER) THEN NULL ELSE
    statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END, sending_last_attempt_at=CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >=
    :attempts_in::INTEGER) THEN sms_message.sending_last_attempt_at ELSE statement_timestamp() END,
    sending_last_error=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN
    CAST(concat('{"message":', to_json(concat('was in hand when its worker died: lease of ',
    sms_message.sending_leased_by, ' ended at ', to_char(timezone('UTC', sms_message.sending_leased_until), 'YYYY-MM-
    DD HH24:MI:SS'), ' UTC, attempt ', sms_message.sending_attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS
    TEXT), 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS JSON) ELSE sms_message.sending_last_error
    END, sending_finished_at=CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in::INTEGER) THEN statement_timestamp() ELSE NULL END
WHERE sms_message.id = ANY (array((SELECT sms_message.id
FROM sms_message
WHERE sms_message.sending_due_at <= statement_timestamp() AND sms_message.sending_due_at >= (SELECT :floor::TIMESTAMP
    WITH TIME ZONE)
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT (SELECT :limit_in::INTEGER) FOR NO KEY UPDATE SKIP LOCKED)))
RETURNING sms_message.id, 'null', 'json', NULL AS anon_1, NULL AS anon__1, sms_message.sending_status,
    coalesce(sms_message.sending_first_due_at, sms_message.sending_place_at) AS coalesce_1, NULL AS anon__2,
    sms_message.sending_place_at, sms_message.sending_attempts, sms_message.sending_token, (SELECT CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_3) AS anon_2, CAST(sms_message.sending_last_error AS TEXT) AS
    sending_last_error, (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.sending_due_at) AS due_at
FROM sms_message AS oldest
WHERE oldest.sending_due_at <= statement_timestamp() AND oldest.sending_due_at >= (SELECT :floor::TIMESTAMP WITH TIME
    ZONE)), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_5) AS anon_4

-- statement: reserve-key_of_two
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
WITH first_due AS (SELECT min(oldest.sending_due_at) AS due_at
FROM shipment AS oldest
WHERE oldest.sending_due_at <= statement_timestamp()), due AS (SELECT shipment.tenant AS tenant, shipment.number AS
    number
FROM shipment
WHERE shipment.sending_due_at <= statement_timestamp() AND shipment.sending_due_at >= (SELECT first_due.due_at
FROM first_due)
ORDER BY shipment.sending_due_at, shipment.tenant, shipment.number
LIMIT (SELECT :limit_in::INTEGER) FOR NO KEY UPDATE SKIP LOCKED) UPDATE shipment
SET sending_status=CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >=
    :attempts_in::INTEGER) THEN 'dead' ELSE CASE WHEN (shipment.sending_status = 'dead') THEN 'error' WHEN
    (shipment.sending_status = 'done') THEN 'new' ELSE shipment.sending_status END END, sending_due_at=CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in::INTEGER)
    THEN NULL ELSE statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END,
    sending_place_at=shipment.sending_due_at, sending_attempts=(shipment.sending_attempts + CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in::INTEGER)
    THEN 0 ELSE 1 END), sending_token=(shipment.sending_token + 1), sending_leased_by=CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in::INTEGER)
    THEN NULL ELSE :consumer::VARCHAR END, sending_leased_until=CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in::INTEGER) THEN NULL ELSE
    statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END, sending_last_attempt_at=CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in::INTEGER)
    THEN shipment.sending_last_attempt_at ELSE statement_timestamp() END, sending_last_error=CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until) THEN CAST(concat('{"message":', to_json(concat('was in
    hand when its worker died: lease of ', shipment.sending_leased_by, ' ended at ', to_char(timezone('UTC',
    shipment.sending_leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ', shipment.sending_attempts, ' of ',
    coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS JSON)
    ELSE shipment.sending_last_error END, sending_finished_at=CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in::INTEGER) THEN statement_timestamp()
    ELSE NULL END
FROM due
WHERE shipment.tenant = due.tenant AND shipment.number = due.number
RETURNING shipment.tenant, shipment.number, 'null', 'json', NULL AS anon_1, NULL AS anon__1, shipment.sending_status,
    coalesce(shipment.sending_first_due_at, shipment.sending_place_at) AS coalesce_1, NULL AS anon__2,
    shipment.sending_place_at, shipment.sending_attempts, shipment.sending_token, (SELECT CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_3) AS anon_2, CAST(shipment.sending_last_error AS TEXT) AS
    sending_last_error, (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_5) AS anon_4

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
UPDATE sms_message
SET sending_status='error', sending_due_at=(statement_timestamp() + (given.delay * INTERVAL '1 microsecond')),
    sending_token=(sms_message.sending_token + 1), sending_leased_by=NULL, sending_leased_until=NULL,
    sending_last_error=coalesce(CAST(given.error AS JSON), sms_message.sending_last_error)
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS delay,
    unnest(CAST((SELECT CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS error) AS given
WHERE sms_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (sms_message.sending_token = given.token) THEN true ELSE
    false END AND CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN true ELSE false END
RETURNING sms_message.id, sms_message.sending_token - 1 AS anon_1
