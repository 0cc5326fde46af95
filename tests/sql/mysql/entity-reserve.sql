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
