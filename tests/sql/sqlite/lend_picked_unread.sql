-- As `lend`, but return no more than who was lent, the due time it had, and its group.
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
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
RETURNING id, token, status, place_at, "group"
