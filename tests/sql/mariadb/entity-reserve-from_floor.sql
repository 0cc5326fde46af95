-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
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
    id__1, UTC_TIMESTAMP(6) AS anon_6
FROM sms_message FORCE INDEX (ix_sms_message_sending_due)
WHERE sms_message.sending_due_at <= UTC_TIMESTAMP(6) AND sms_message.sending_due_at >= :floor
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE sms_message FORCE INDEX (PRIMARY)
SET sms_message.sending_status = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status = 'dead')
    THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END END,
    sms_message.sending_due_at = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END, sms_message.sending_place_at = sms_message.sending_due_at, sms_message.sending_attempts =
    sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN 0 ELSE 1 END, sms_message.sending_token =
    sms_message.sending_token + 1, sms_message.sending_leased_by = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN NULL ELSE :consumer END,
    sms_message.sending_leased_until = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END, sms_message.sending_last_attempt_at = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= :attempts_in) THEN
    sms_message.sending_last_attempt_at ELSE CAST(:told AS DATETIME(6)) END, sms_message.sending_last_error = CASE
    WHEN (sms_message.sending_due_at = sms_message.sending_leased_until) THEN concat('{"message":',
    json_quote(concat('was in hand when its worker died: lease of ', sms_message.sending_leased_by, ' ended at ',
    date_format(sms_message.sending_leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ',
    sms_message.sending_attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END, sms_message.sending_finished_at
    = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >=
    :attempts_in) THEN CAST(:told AS DATETIME(6)) ELSE NULL END
WHERE sms_message.id IN :found
