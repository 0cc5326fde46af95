-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
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
    tenant__1, shipment.number AS number__1, UTC_TIMESTAMP(6) AS anon_6
FROM shipment FORCE INDEX (ix_shipment_sending_due)
WHERE shipment.sending_due_at <= UTC_TIMESTAMP(6)
ORDER BY shipment.sending_due_at, shipment.tenant, shipment.number
LIMIT :limit_in
FOR UPDATE SKIP LOCKED;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT found_rows.`tenant`, found_rows.`number`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`tenant` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `number` BIGINT PATH '$[1]')) AS found_rows) AS found STRAIGHT_JOIN shipment ON shipment.tenant
    = found.tenant AND shipment.number = found.number
SET shipment.sending_status = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (shipment.sending_status = 'dead') THEN
    'error' WHEN (shipment.sending_status = 'done') THEN 'new' ELSE shipment.sending_status END END,
    shipment.sending_due_at = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END, shipment.sending_place_at = shipment.sending_due_at, shipment.sending_attempts =
    shipment.sending_attempts + CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= :attempts_in) THEN 0 ELSE 1 END, shipment.sending_token = shipment.sending_token + 1,
    shipment.sending_leased_by = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= :attempts_in) THEN NULL ELSE :consumer END, shipment.sending_leased_until = CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN NULL
    ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))) END, shipment.sending_last_attempt_at = CASE
    WHEN (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN
    shipment.sending_last_attempt_at ELSE CAST(:told AS DATETIME(6)) END, shipment.sending_last_error = CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until) THEN concat('{"message":', json_quote(concat('was in
    hand when its worker died: lease of ', shipment.sending_leased_by, ' ended at ',
    date_format(shipment.sending_leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', shipment.sending_attempts, ' of
    ', coalesce(:attempts_in, 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') ELSE
    shipment.sending_last_error END, shipment.sending_finished_at = CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= :attempts_in) THEN CAST(:told AS DATETIME(6)) ELSE
    NULL END
