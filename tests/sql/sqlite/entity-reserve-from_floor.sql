-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
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
