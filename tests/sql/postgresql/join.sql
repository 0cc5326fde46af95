-- statement: delete_parts
-- Delete the parts of sets.
DELETE
FROM duerow_part
WHERE duerow_part.set_id = ANY (CAST((SELECT CAST(CAST(:given_set_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))

-- statement: forget_sets
-- Delete the rows of sets.
DELETE
FROM duerow_set
USING (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_correlation::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS correlation) AS
    given
WHERE duerow_set.queue = ANY (ARRAY[given.queue]) AND duerow_set.correlation = ANY (ARRAY[given.correlation])

-- statement: insert_parts
-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, CAST(given.content AS JSON) AS
    content
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_set_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS set_id,
    unnest(CAST((SELECT CAST(CAST(:given_part_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS part_id,
    unnest(CAST((SELECT CAST(CAST(:given_content::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS content) AS given

-- statement: lock_sets
-- Lock the rows of sets, and add missing ones; return the rows, and whether each set was complete
-- before.
INSERT INTO duerow_set (queue, correlation, parts) SELECT given.queue, given.correlation, 0
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_correlation::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS correlation) AS
    given
WHERE 1 = 1
ORDER BY given.queue, given.correlation
ON CONFLICT (queue, correlation) DO UPDATE
SET parts = duerow_set.parts
RETURNING duerow_set.queue, duerow_set.correlation, duerow_set.set_id, duerow_set.parts, duerow_set.closed_until >
    statement_timestamp() AS anon_1

-- statement: note_sets
-- Write the messages of sets, their numbers of parts, and how long their completion is remembered.
INSERT INTO duerow_set (queue, correlation, set_id, parts, closed_until) SELECT given.queue, given.correlation,
    given.set_id, given.parts, statement_timestamp() + (given.remember * INTERVAL '1 microsecond') AS anon_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_correlation::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS correlation,
    unnest(CAST((SELECT CAST(CAST(:given_set_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS set_id,
    unnest(CAST((SELECT CAST(CAST(:given_parts::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AS parts,
    unnest(CAST((SELECT CAST(CAST(:given_remember::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS remember) AS given
WHERE 1 = 1
ON CONFLICT (queue, correlation) DO UPDATE
SET set_id = excluded.set_id, parts = excluded.parts, closed_until = excluded.closed_until

-- statement: parts
-- Read the parts of sets, unordered, because sorting can make a database read the parts of all sets.
SELECT duerow_part.set_id, duerow_part.part_id, CAST(duerow_part.content AS TEXT) AS content
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
JOIN duerow_part ON duerow_part.set_id = ANY (ARRAY[given.id])

-- statement: prune_sets
-- Delete the rows of sets whose completion is no longer remembered.
DELETE
FROM duerow_set
WHERE (duerow_set.queue, duerow_set.correlation) IN (SELECT duerow_set.queue, duerow_set.correlation
FROM duerow_set
WHERE duerow_set.closed_until <= statement_timestamp()
ORDER BY duerow_set.closed_until
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED) AND duerow_set.closed_until <= statement_timestamp()

-- statement: standing_sets
-- Read the ids and tokens of sets' messages that still exist, and lock them if the database can.
SELECT duerow_message.id, duerow_message.token
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND duerow_message.queue = given.queue
FOR UPDATE OF duerow_message
