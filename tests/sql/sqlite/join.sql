-- statement: delete_parts
-- Delete the parts of sets.
DELETE
FROM duerow_part
WHERE duerow_part.set_id IN (SELECT given.set_id
FROM (SELECT given_rows.value AS set_id
FROM json_each(:given) AS given_rows) AS given)

-- statement: forget_sets
-- Delete the rows of sets.
DELETE
FROM duerow_set
WHERE (duerow_set.queue, duerow_set.correlation) IN (SELECT given.queue, given.correlation
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS correlation
FROM json_each(:given) AS given_rows) AS given)

-- statement: insert_parts
-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, given.content
FROM (SELECT json_extract(given_rows.value, '$[0]') AS set_id, json_extract(given_rows.value, '$[1]') AS part_id,
    json_extract(given_rows.value, '$[2]') AS content
FROM json_each(:given) AS given_rows) AS given

-- statement: lock_sets
-- Lock the rows of sets, and add missing ones; return the rows, and whether each set was complete
-- before.
INSERT INTO duerow_set (queue, correlation, parts) SELECT given.queue, given.correlation, 0
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS correlation
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.correlation
ON CONFLICT (queue, correlation) DO UPDATE
SET parts = duerow_set.parts
RETURNING queue, correlation, set_id, parts, closed_until > :now AS anon_1

-- statement: note_sets
-- Write the messages of sets, their numbers of parts, and how long their completion is remembered.
INSERT INTO duerow_set (queue, correlation, set_id, parts, closed_until) SELECT given.queue, given.correlation,
    given.set_id, given.parts, :now + given.remember AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS correlation,
    json_extract(given_rows.value, '$[2]') AS set_id, json_extract(given_rows.value, '$[3]') AS parts,
    json_extract(given_rows.value, '$[4]') AS remember
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ON CONFLICT (queue, correlation) DO UPDATE
SET set_id = excluded.set_id, parts = excluded.parts, closed_until = excluded.closed_until

-- statement: parts
-- Read the parts of sets, unordered, because sorting can make a database read the parts of all sets.
SELECT duerow_part.set_id, duerow_part.part_id, duerow_part.content
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_part ON duerow_part.set_id = given.id

-- statement: prune_sets
-- Delete the rows of sets whose completion is no longer remembered.
DELETE
FROM duerow_set
WHERE (duerow_set.queue, duerow_set.correlation) IN (SELECT duerow_set.queue, duerow_set.correlation
FROM duerow_set
WHERE duerow_set.closed_until <= :now
ORDER BY duerow_set.closed_until
LIMIT :limit_in OFFSET :param_1) AND duerow_set.closed_until <= :now

-- statement: standing_sets
-- Read the ids and tokens of sets' messages that still exist, and lock them if the database can.
SELECT duerow_message.id, duerow_message.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS queue
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.queue = given.queue
