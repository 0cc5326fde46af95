-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_status = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status
    = 'dead') THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END
    END, sending_due_at = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, sending_place_at = sms_message.sending_due_at, sending_attempts =
    sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END, sending_token =
    sms_message.sending_token + 1, sending_leased_by = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE
    :consumer END, sending_leased_until = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, sending_last_attempt_at = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN
    sms_message.sending_last_attempt_at ELSE @now END, sending_last_error = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN concat('{"message":"', string_escape(concat('was in hand when its worker
    died: lease of ', sms_message.sending_leased_by, ' ended at ', convert(VARCHAR(19),
    sms_message.sending_leased_until, 120), ' UTC, attempt ', sms_message.sending_attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END, sending_finished_at = CASE
    WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >=
    CAST(:attempts_in AS INT)) THEN @now ELSE NULL END
OUTPUT inserted.id, 'null', 'json', NULL, NULL, inserted.sending_status, COALESCE(inserted.sending_first_due_at,
    inserted.sending_place_at), NULL, inserted.sending_place_at, inserted.sending_attempts, inserted.sending_token,
    datediff_big(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), dateadd(MICROSECOND, CAST(:lease AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) /
    1000000) / 86400, @now)))), inserted.sending_last_error
FROM (SELECT TOP (CAST(:limit_in AS INT)) sms_message.id AS id
FROM sms_message WITH (INDEX(ix_sms_message_sending_due), ROWLOCK, UPDLOCK, READPAST)
WHERE sms_message.sending_due_at <= @now AND sms_message.sending_due_at >= CAST(:floor AS DATETIME2(6)) AND
    sms_message.sending_due_at IS NOT NULL
ORDER BY sms_message.sending_due_at, sms_message.id) AS picked
JOIN sms_message WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON sms_message.id = picked.id AND CASE WHEN
    (sms_message.sending_due_at <= @now AND sms_message.sending_due_at >= CAST(:floor AS DATETIME2(6)) AND
    sms_message.sending_due_at IS NOT NULL) THEN 1 ELSE 0 END = 1
