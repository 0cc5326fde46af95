-- Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.
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
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.kind IN
    (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind, duerow_message.key,
    CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status, duerow_message.created_at,
    nullif(duerow_message.first_due_at, duerow_message.created_at) AS nullif_1, nullif(duerow_message.place_at,
    duerow_message.first_due_at) AS nullif_2, duerow_message.attempts, duerow_message.token, (SELECT
    CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1, CAST(duerow_message.last_error AS TEXT) AS last_error,
    (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS min_1
FROM duerow_message AS oldest
WHERE oldest.queue = :queue_in::VARCHAR AND oldest.priority = :priority_in::SMALLINT AND oldest.due_at <=
    statement_timestamp() AND oldest."group" IS NULL AND oldest.kind IN (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR)),
    TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_4) AS anon_3
