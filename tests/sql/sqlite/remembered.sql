-- Read who held the given keys, and whether they are still remembered.
SELECT duerow_remembered.queue, duerow_remembered."key", duerow_remembered.id, duerow_remembered.until > :now AS still
FROM duerow_remembered
WHERE (duerow_remembered.queue, duerow_remembered."key") IN (SELECT given.queue, given."key"
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given)
