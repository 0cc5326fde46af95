-- Note the messages of sets, the numbers of their parts, and for how long it is known that one was
-- complete.
UPDATE duerow_set
SET set_id=given.set_id, parts=given.parts, closed_until=(:now + given.remember)
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS correlation,
    json_extract(given_rows.value, '$[2]') AS set_id, json_extract(given_rows.value, '$[3]') AS parts,
    json_extract(given_rows.value, '$[4]') AS remember
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_set.queue = given.queue AND duerow_set.correlation = given.correlation
