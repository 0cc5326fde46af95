-- statement: forget_notes
-- Take names away; return them.
DELETE
FROM duerow_noted
WHERE duerow_noted.name IN (SELECT given.name
FROM unnest(CAST(CAST(:given_name::VARCHAR AS TEXT) AS TEXT[])) AS given(name))
RETURNING duerow_noted.name

-- statement: forget_staged
-- Take away the entries that were staged under the given numbers.
DELETE
FROM duerow_staged
WHERE duerow_staged.staging_id IN (SELECT given.staging_id
FROM unnest(CAST(CAST(:given_staging_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(staging_id))

-- statement: forget_stagings
-- Take away the notes of what was staged under the given numbers.
DELETE
FROM duerow_staging
WHERE duerow_staging.id IN (SELECT given.id
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id))

-- statement: note
-- Note a name, and return it; nothing if it is noted already, also by who commits at this moment.
INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in::VARCHAR, statement_timestamp())
ON CONFLICT (name) DO NOTHING
RETURNING duerow_noted.name

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number under which they are kept.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines, due, staged_at)
VALUES (:batch_in::VARCHAR, :part_in::VARCHAR, :entries_in::INTEGER, :keyed_in, :grouped_in, CAST(:lines_in::VARCHAR
    AS JSON), :due_in::TIMESTAMP WITH TIME ZONE, statement_timestamp())
RETURNING duerow_staging.id

-- statement: old_notes
-- Lock the oldest names that were noted long ago, and read them.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= (statement_timestamp() + (:span::BIGINT * INTERVAL '1 microsecond'))
ORDER BY duerow_noted.noted_at
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED

-- statement: old_stagings
-- Lock the oldest notes of what was staged too long ago, and read their numbers and how many entries
-- it is.
SELECT duerow_staging.id, duerow_staging.entries
FROM duerow_staging
WHERE duerow_staging.staged_at <= (statement_timestamp() + (:span::BIGINT * INTERVAL '1 microsecond'))
ORDER BY duerow_staging.staged_at
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED

-- statement: publish
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce_1, coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place

-- statement: publish-grouped
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new', CASE WHEN
    (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE coalesce(duerow_staged.due, statement_timestamp() +
    (duerow_staged.delay * INTERVAL '1 microsecond'), statement_timestamp()) END AS anon_1,
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce_1, 0, 0, statement_timestamp() AS statement_timestamp_1, CASE WHEN
    (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) ELSE NULL END AS anon_2
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place

-- statement: publish-keyed
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce_1, coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING

-- statement: stage
-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, key, kind, payload, headers, "group", priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, given.due, given.delay
FROM unnest(CAST(CAST(:given_staging_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_place::VARCHAR AS TEXT) AS
    INTEGER[]), CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS
    TEXT[]), CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS
    JSON[]), CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS
    TEXT[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS
    TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS given(staging_id, place,
    queue, key, kind, payload, headers, "group", priority, due, delay)

-- statement: staged
-- Read entries that were staged under a number, from a place on, in their order.
SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind, CAST(duerow_staged.payload AS TEXT) AS payload,
    CAST(duerow_staged.headers AS TEXT) AS headers, duerow_staged."group", duerow_staged.priority, duerow_staged.due,
    duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT AND duerow_staged.place >= :place_in::INTEGER
ORDER BY duerow_staged.place
LIMIT :limit_in::INTEGER

-- statement: stagings
-- Read what a batch has staged, in the order in which it was, locked against who publishes or discards
-- it.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    CAST(duerow_staging.lines AS TEXT) AS lines, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in::VARCHAR
ORDER BY duerow_staging.id
FOR UPDATE
