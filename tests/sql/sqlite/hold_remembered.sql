-- Hold the given keys unless they are remembered, also by who commits at this moment; return those
-- held.
INSERT INTO duerow_remembered (queue, "key", id, until) SELECT given.queue, given."key", given.id, :over AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key",
    json_extract(given_rows.value, '$[2]') AS id
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given."key"
ON CONFLICT (queue, "key") DO UPDATE
SET id = excluded.id, until = excluded.until
WHERE duerow_remembered.until <= :now
RETURNING queue, "key"
