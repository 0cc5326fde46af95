-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
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
WHERE sms_message.sending_due_at <= statement_timestamp()
ORDER BY sms_message.sending_due_at, sms_message.id
LIMIT :limit_in::INTEGER FOR NO KEY UPDATE SKIP LOCKED)))
RETURNING sms_message.id, 'null', 'json', NULL AS anon_1, NULL AS anon__1, sms_message.sending_status,
    coalesce(sms_message.sending_first_due_at, sms_message.sending_place_at) AS coalesce_1, NULL AS anon__2,
    sms_message.sending_place_at, sms_message.sending_attempts, sms_message.sending_token, (SELECT CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_3) AS anon_2, CAST(sms_message.sending_last_error AS TEXT) AS
    sending_last_error, (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.sending_due_at) AS min_1
FROM sms_message AS oldest
WHERE oldest.sending_due_at <= statement_timestamp()), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS
    anon_5) AS anon_4
