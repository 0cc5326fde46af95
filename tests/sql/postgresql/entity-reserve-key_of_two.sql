-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
WITH due AS (SELECT shipment.tenant AS tenant, shipment.number AS number
FROM shipment
WHERE shipment.sending_due_at <= statement_timestamp()
ORDER BY shipment.sending_due_at, shipment.tenant, shipment.number
LIMIT :limit_in::INTEGER FOR NO KEY UPDATE SKIP LOCKED) UPDATE shipment
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
FROM greatest((SELECT min(oldest.sending_due_at) AS min_1
FROM shipment AS oldest
WHERE oldest.sending_due_at <= statement_timestamp()), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS
    anon_5) AS anon_4
