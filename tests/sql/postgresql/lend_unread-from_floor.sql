-- As `reserve`, but return no more than who was lent, and the due time it had; and the floor.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END,
    place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT
    NULL AND duerow_message.attempts >= :attempts_in::INTEGER) THEN 0 ELSE 1 END), token=(duerow_message.token + 1),
    leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN NULL ELSE :consumer::VARCHAR END, leased_until=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT *
    INTERVAL '1 microsecond') END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN duerow_message.last_attempt_at ELSE statement_timestamp()
    END, last_error=CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN CAST(concat('{"message":',
    to_json(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    to_char(timezone('UTC', duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ',
    duerow_message.attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') AS JSON) ELSE duerow_message.last_error END
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = :priority_in::SMALLINT AND
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    :floor::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS min_1
FROM duerow_message AS oldest
WHERE oldest.queue = :queue_in::VARCHAR AND oldest.priority = :priority_in::SMALLINT AND oldest.due_at <=
    statement_timestamp() AND oldest."group" IS NULL AND oldest.due_at >= :floor::TIMESTAMP WITH TIME ZONE),
    TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1
