-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 'dead'
    ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END END,
    due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL
    ELSE :now + :lease END, place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 0 ELSE 1 END),
    token=(duerow_message.token + 1), leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN NULL ELSE :consumer END, leased_until=CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL ELSE :now + :lease
    END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN duerow_message.last_attempt_at ELSE :now END, last_error=CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', duerow_message.leased_until / 1000000,
    'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT) || ' of ' || coalesce(CAST(:attempts_in
    AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE duerow_message.last_error END
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, payload AS payload, kind, "key", headers AS headers, status, created_at, nullif(first_due_at,
    created_at) AS nullif_1, nullif(place_at, first_due_at) AS nullif_2, attempts, token, :now + :lease AS anon_1,
    last_error AS last_error
