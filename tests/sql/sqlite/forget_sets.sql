-- Take the rows of sets away.
DELETE
FROM duerow_set
WHERE (duerow_set.queue, duerow_set.correlation) IN (SELECT given.queue, given.correlation
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS correlation
FROM json_each(:given) AS given_rows) AS given)
