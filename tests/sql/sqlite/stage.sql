-- statement: forget_notes
-- Take names away; return them.
DELETE
FROM duerow_noted
WHERE duerow_noted.name IN (SELECT given.name
FROM (SELECT given_rows.value AS name
FROM json_each(:given) AS given_rows) AS given)
RETURNING name

-- statement: forget_staged
-- Take away the entries that were staged under the given numbers.
DELETE
FROM duerow_staged
WHERE duerow_staged.staging_id IN (SELECT given.staging_id
FROM (SELECT given_rows.value AS staging_id
FROM json_each(:given) AS given_rows) AS given)

-- statement: forget_stagings
-- Take away the notes of what was staged under the given numbers.
DELETE
FROM duerow_staging
WHERE duerow_staging.id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)

-- statement: note
-- Note a name, and return it; nothing if it is noted already, also by who commits at this moment.
INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in, :now)
ON CONFLICT (name) DO NOTHING
RETURNING name

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number under which they are kept.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines, due, staged_at)
VALUES (:batch_in, :part_in, :entries_in, :keyed_in, :grouped_in, :lines_in, :due_in, :now)
RETURNING id

-- statement: old_notes
-- Lock the oldest names that were noted long ago, and read them.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= :now + :span
ORDER BY duerow_noted.noted_at
LIMIT :limit_in OFFSET :param_1

-- statement: old_stagings
-- Lock the oldest notes of what was staged too long ago, and read their numbers and how many entries
-- it is.
SELECT duerow_staging.id, duerow_staging.entries
FROM duerow_staging
WHERE duerow_staging.staged_at <= :now + :span
ORDER BY duerow_staging.staged_at
LIMIT :limit_in OFFSET :param_1

-- statement: publish
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) AS coalesce_1, coalesce(duerow_staged.due, :now +
    duerow_staged.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place

-- statement: publish-grouped
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new', CASE WHEN
    (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) END AS
    anon_1, coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) AS coalesce_1, 0, 0, :now AS anon_2, CASE
    WHEN (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue,
    duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) ELSE NULL END AS
    anon_3
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place

-- statement: publish-keyed
-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) AS coalesce_1, coalesce(duerow_staged.due, :now +
    duerow_staged.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING

-- statement: stage
-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, "key", kind, payload, headers, "group", priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, given.due, given.delay
FROM (SELECT json_extract(given_rows.value, '$[0]') AS staging_id, json_extract(given_rows.value, '$[1]') AS place,
    json_extract(given_rows.value, '$[2]') AS queue, json_extract(given_rows.value, '$[3]') AS "key",
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS headers, json_extract(given_rows.value, '$[7]') AS "group",
    json_extract(given_rows.value, '$[8]') AS priority, json_extract(given_rows.value, '$[9]') AS due,
    json_extract(given_rows.value, '$[10]') AS delay
FROM json_each(:given) AS given_rows) AS given

-- statement: staged
-- Read entries that were staged under a number, from a place on, in their order.
SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind, duerow_staged.payload AS payload,
    duerow_staged.headers AS headers, duerow_staged."group", duerow_staged.priority, duerow_staged.due,
    duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in AND duerow_staged.place >= :place_in
ORDER BY duerow_staged.place
LIMIT :limit_in OFFSET :param_1

-- statement: stagings
-- Read what a batch has staged, in the order in which it was, locked against who publishes or discards
-- it.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    duerow_staging.lines AS lines, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in
ORDER BY duerow_staging.id
