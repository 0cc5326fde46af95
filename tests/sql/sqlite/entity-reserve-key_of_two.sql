-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
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
