-- statement: commit_and_reserve-from_floor
-- Delete the row of a receipt if its token matches and nobody has locked it; if so, lease as `reserve`
-- does.
WITH ended AS (DELETE
FROM duerow_message
WHERE duerow_message.id = (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id = :id_in::BIGINT AND duerow_message.token = :token_in::BIGINT
FOR UPDATE SKIP LOCKED)
RETURNING duerow_message.id, duerow_message.token), lent AS (UPDATE duerow_message
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
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT :floor::TIMESTAMP WITH TIME ZONE) AND duerow_message.id != :id_in::BIGINT AND (EXISTS (SELECT ended.id
FROM ended))
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind, duerow_message.key,
    CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status, duerow_message.created_at,
    nullif(duerow_message.first_due_at, duerow_message.created_at) AS nullif_1, nullif(duerow_message.place_at,
    duerow_message.first_due_at) AS nullif_2, duerow_message.attempts, duerow_message.token, (SELECT
    CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_3) AS anon_1, CAST(duerow_message.last_error AS TEXT) AS last_error,
    (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.due_at >= (SELECT :floor::TIMESTAMP
    WITH TIME ZONE)), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_4) AS anon_2) SELECT
    lent.id, lent.payload, lent.kind, lent.key, lent.headers, lent.status, lent.created_at, lent.nullif_1,
    lent.nullif_2, lent.attempts, lent.token, lent.anon_1, lent.last_error, lent.anon_2
FROM lent UNION ALL SELECT ended.id, NULL AS anon_5, NULL AS anon__1, NULL AS anon__2, NULL AS anon__3, NULL AS
    anon__4, NULL AS anon__5, NULL AS anon__6, NULL AS anon__7, NULL AS anon__8, ended.token, NULL AS anon__9, NULL AS
    anon__10, NULL AS anon__11
FROM ended

-- statement: commit_and_reserve-of_kinds
-- Delete the row of a receipt if its token matches and nobody has locked it; if so, lease as `reserve`
-- does.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.kind = ANY (CAST((SELECT
    CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[]))), ended AS (DELETE
FROM duerow_message
WHERE duerow_message.id = (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id = :id_in::BIGINT AND duerow_message.token = :token_in::BIGINT
FOR UPDATE SKIP LOCKED)
RETURNING duerow_message.id, duerow_message.token), lent AS (UPDATE duerow_message
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
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.kind =
    ANY (CAST((SELECT CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[])) AND
    duerow_message.due_at >= (SELECT first_due.due_at
FROM first_due) AND duerow_message.id != :id_in::BIGINT AND (EXISTS (SELECT ended.id
FROM ended))
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind, duerow_message.key,
    CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status, duerow_message.created_at,
    nullif(duerow_message.first_due_at, duerow_message.created_at) AS nullif_1, nullif(duerow_message.place_at,
    duerow_message.first_due_at) AS nullif_2, duerow_message.attempts, duerow_message.token, (SELECT
    CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_3) AS anon_1, CAST(duerow_message.last_error AS TEXT) AS last_error,
    (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_4) AS anon_2) SELECT lent.id,
    lent.payload, lent.kind, lent.key, lent.headers, lent.status, lent.created_at, lent.nullif_1, lent.nullif_2,
    lent.attempts, lent.token, lent.anon_1, lent.last_error, lent.anon_2
FROM lent UNION ALL SELECT ended.id, NULL AS anon_5, NULL AS anon__1, NULL AS anon__2, NULL AS anon__3, NULL AS
    anon__4, NULL AS anon__5, NULL AS anon__6, NULL AS anon__7, NULL AS anon__8, ended.token, NULL AS anon__9, NULL AS
    anon__10, NULL AS anon__11
FROM ended

-- statement: further_lines
-- Read the lowest priority in use in each given gap, in groups or not, and whether its queue is
-- paused.
SELECT given.queue, given.grouped, CASE WHEN given.grouped THEN (SELECT min(duerow_message.priority) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NOT NULL) ELSE (SELECT
    min(duerow_message.priority) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NULL) END AS anon_1,
    coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = given.queue), 1 = 0) AS coalesce_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_grouped::VARCHAR AS TEXT) AS BOOLEAN[])) AS BOOLEAN[])) AS grouped,
    unnest(CAST((SELECT CAST(CAST(:given_low::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AS low,
    unnest(CAST((SELECT CAST(CAST(:given_high::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AS high) AS given

-- statement: lend
-- Lease picked rows, as `reserve` does; if two rows of a group are leased at once, the second lease
-- fails.
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
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))
RETURNING duerow_message.id, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind, duerow_message.key,
    CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status, duerow_message.created_at,
    nullif(duerow_message.first_due_at, duerow_message.created_at) AS nullif_1, nullif(duerow_message.place_at,
    duerow_message.first_due_at) AS nullif_2, duerow_message.attempts, duerow_message.token, (SELECT
    CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1, CAST(duerow_message.last_error AS TEXT) AS last_error,
    duerow_message.priority, duerow_message."group"

-- statement: next_due
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
SELECT given.queue, CASE WHEN given.grouped THEN (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    (SELECT :floor::TIMESTAMP WITH TIME ZONE) AND duerow_message."group" IS NOT NULL) ELSE (SELECT
    min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    (SELECT :floor::TIMESTAMP WITH TIME ZONE) AND duerow_message."group" IS NULL) END AS anon_1, statement_timestamp()
    AS statement_timestamp_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_grouped::VARCHAR AS TEXT) AS BOOLEAN[])) AS BOOLEAN[])) AS grouped,
    unnest(CAST((SELECT CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority) AS
    given

-- statement: next_due-of_kinds
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
SELECT given.queue, CASE WHEN given.grouped THEN (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind = ANY
    (CAST((SELECT CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[])) AND
    duerow_message.due_at >= (SELECT :floor::TIMESTAMP WITH TIME ZONE) AND duerow_message."group" IS NOT NULL) ELSE
    (SELECT min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind = ANY
    (CAST((SELECT CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[])) AND
    duerow_message.due_at >= (SELECT :floor::TIMESTAMP WITH TIME ZONE) AND duerow_message."group" IS NULL) END AS
    anon_1, statement_timestamp() AS statement_timestamp_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_grouped::VARCHAR AS TEXT) AS BOOLEAN[])) AS BOOLEAN[])) AS grouped,
    unnest(CAST((SELECT CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority) AS
    given

-- statement: pick
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL) SELECT duerow_message.id,
    duerow_message.due_at, duerow_message."group", (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED

-- statement: pick-grouped
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NOT NULL) SELECT duerow_message.id,
    duerow_message.due_at, duerow_message."group", (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NOT NULL AND
    duerow_message.due_at >= (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED

-- statement: pick-grouped-from_floor
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message."group", (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NOT NULL AND oldest.due_at >= (SELECT
    :floor::TIMESTAMP WITH TIME ZONE)), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS
    anon_1
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NOT NULL AND
    duerow_message.due_at >= (SELECT :floor::TIMESTAMP WITH TIME ZONE)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED

-- statement: pick-of_kinds
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NOT NULL AND oldest.kind = ANY (CAST((SELECT
    CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[]))) SELECT duerow_message.id,
    duerow_message.due_at, duerow_message."group", (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NOT NULL AND duerow_message.kind
    = ANY (CAST((SELECT CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[])) AND
    duerow_message.due_at >= (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED

-- statement: pop
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL) DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload,
    duerow_message.kind, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error, statement_timestamp() AS statement_timestamp_1, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: pop-from_floor
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT :floor::TIMESTAMP WITH TIME ZONE)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload,
    duerow_message.kind, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error, statement_timestamp() AS statement_timestamp_1, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.due_at >= (SELECT :floor::TIMESTAMP
    WITH TIME ZONE)), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: pop-of_kinds
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.kind = ANY (CAST((SELECT
    CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[]))) DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.kind =
    ANY (CAST((SELECT CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[])) AND
    duerow_message.due_at >= (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload,
    duerow_message.kind, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error, statement_timestamp() AS statement_timestamp_1, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL) UPDATE duerow_message
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
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind, duerow_message.key,
    CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status, duerow_message.created_at,
    nullif(duerow_message.first_due_at, duerow_message.created_at) AS nullif_1, nullif(duerow_message.place_at,
    duerow_message.first_due_at) AS nullif_2, duerow_message.attempts, duerow_message.token, (SELECT
    CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1, CAST(duerow_message.last_error AS TEXT) AS last_error,
    (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_4) AS anon_3

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
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
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT :floor::TIMESTAMP WITH TIME ZONE)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind, duerow_message.key,
    CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status, duerow_message.created_at,
    nullif(duerow_message.first_due_at, duerow_message.created_at) AS nullif_1, nullif(duerow_message.place_at,
    duerow_message.first_due_at) AS nullif_2, duerow_message.attempts, duerow_message.token, (SELECT
    CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1, CAST(duerow_message.last_error AS TEXT) AS last_error,
    (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.due_at >= (SELECT :floor::TIMESTAMP
    WITH TIME ZONE)), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_4) AS anon_3

-- statement: reserve-of_kinds
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.kind = ANY (CAST((SELECT
    CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[]))) UPDATE duerow_message
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
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.kind =
    ANY (CAST((SELECT CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[])) AND
    duerow_message.due_at >= (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind, duerow_message.key,
    CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status, duerow_message.created_at,
    nullif(duerow_message.first_due_at, duerow_message.created_at) AS nullif_1, nullif(duerow_message.place_at,
    duerow_message.first_due_at) AS nullif_2, duerow_message.attempts, duerow_message.token, (SELECT
    CAST(EXTRACT(epoch
FROM greatest(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'), TIMESTAMPTZ '0001-01-02
    00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1, CAST(duerow_message.last_error AS TEXT) AS last_error,
    (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_4) AS anon_3

-- statement: take
-- Delete picked rows, as `pop` does.
DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))
RETURNING duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload,
    duerow_message.kind, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error, statement_timestamp() AS statement_timestamp_1
