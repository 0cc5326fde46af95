-- Take remembered keys away; return the ids of those who held them.
DELETE
FROM duerow_remembered
WHERE (duerow_remembered.queue, duerow_remembered."key") IN (SELECT given.queue, given."key"
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given)
RETURNING id
