-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE shipment
SET sending_status = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts
    >= CAST(:attempts_in AS INT)) THEN 'dead' ELSE CASE WHEN (shipment.sending_status = 'dead') THEN 'error' WHEN
    (shipment.sending_status = 'done') THEN 'new' ELSE shipment.sending_status END END, sending_due_at = CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS
    INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))) END, sending_place_at
    = shipment.sending_due_at, sending_attempts = shipment.sending_attempts + CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END,
    sending_token = shipment.sending_token + 1, sending_leased_by = CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE :consumer
    END, sending_leased_until = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT)
    % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) /
    1000000) / 86400, @now))) END, sending_last_attempt_at = CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN
    shipment.sending_last_attempt_at ELSE @now END, sending_last_error = CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until) THEN concat('{"message":"', string_escape(concat('was in hand when its worker died:
    lease of ', shipment.sending_leased_by, ' ended at ', convert(VARCHAR(19), shipment.sending_leased_until, 120), '
    UTC, attempt ', shipment.sending_attempts, ' of ', COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any
    number')), 'json'), '","traceback":null,"type":"LeaseEnded"}') ELSE shipment.sending_last_error END,
    sending_finished_at = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN @now ELSE NULL END
OUTPUT inserted.tenant, inserted.number, 'null', 'json', NULL, NULL, inserted.sending_status,
    COALESCE(inserted.sending_first_due_at, inserted.sending_place_at), NULL, inserted.sending_place_at,
    inserted.sending_attempts, inserted.sending_token, datediff_big(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)),
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))), inserted.sending_last_error
FROM (SELECT TOP (CAST(:limit_in AS INT)) shipment.tenant AS tenant, shipment.number AS number
FROM shipment WITH (INDEX(ix_shipment_sending_due), ROWLOCK, UPDLOCK, READPAST)
WHERE shipment.sending_due_at <= @now AND shipment.sending_due_at IS NOT NULL
ORDER BY shipment.sending_due_at, shipment.tenant, shipment.number) AS picked
JOIN shipment WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON shipment.tenant = picked.tenant AND shipment.number =
    picked.number AND CASE WHEN (shipment.sending_due_at <= @now AND shipment.sending_due_at IS NOT NULL) THEN 1 ELSE
    0 END = 1
