-- Lend rows that were picked, as `reserve` does; of two of a group lent at once the second one fails.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.payload AS payload, duerow_message.kind, duerow_message.`key`,
    duerow_message.headers AS headers, CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts
    >= :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status
    ELSE 'done' END END AS anon_1, duerow_message.created_at, nullif(duerow_message.first_due_at,
    duerow_message.created_at) AS nullif_1, nullif(duerow_message.due_at, duerow_message.first_due_at) AS nullif_2,
    (duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN 0 ELSE 1 END) AS anon_2, (duerow_message.token + 1) AS anon_3, timestampdiff(MICROSECOND,
    '1970-01-01', timestampadd(MICROSECOND, :lease, UTC_TIMESTAMP(6))) AS timestampdiff_1, CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END AS last_error,
    duerow_message.priority, duerow_message.`group`, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_4
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_message FORCE INDEX (PRIMARY)
SET duerow_message.status = CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status
    ELSE 'done' END END, duerow_message.due_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END, duerow_message.place_at = duerow_message.due_at, duerow_message.attempts =
    duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN 0 ELSE 1 END, duerow_message.token = duerow_message.token + 1, duerow_message.leased_by = CASE
    WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL ELSE
    :consumer END, duerow_message.leased_until = CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN NULL ELSE timestampadd(MICROSECOND, :lease, CAST(:told AS
    DATETIME(6))) END, duerow_message.last_attempt_at = CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN duerow_message.last_attempt_at ELSE CAST(:told AS DATETIME(6)) END,
    duerow_message.last_error = CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":',
    json_quote(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ',
    coalesce(:attempts_in, 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error
    END
WHERE duerow_message.id IN :found
