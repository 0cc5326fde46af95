-- Lock the rows of sets, and add those that are missing; return them, and whether each was complete
-- before.
INSERT INTO duerow_set (queue, correlation, parts) SELECT given.queue, given.correlation, 0
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS correlation
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.correlation
ON CONFLICT (queue, correlation) DO UPDATE
SET parts = duerow_set.parts
RETURNING queue, correlation, set_id, parts, closed_until > :now AS anon_1
