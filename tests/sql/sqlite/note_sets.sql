-- Note the messages of sets, the numbers of their parts, and for how long it is known that one was
-- complete.
INSERT INTO duerow_set (queue, correlation, set_id, parts, closed_until) SELECT given.queue, given.correlation,
    given.set_id, given.parts, :now + given.remember AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS correlation,
    json_extract(given_rows.value, '$[2]') AS set_id, json_extract(given_rows.value, '$[3]') AS parts,
    json_extract(given_rows.value, '$[4]') AS remember
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ON CONFLICT (queue, correlation) DO UPDATE
SET set_id = excluded.set_id, parts = excluded.parts, closed_until = excluded.closed_until
