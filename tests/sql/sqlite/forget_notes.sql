-- Take names away; return them.
DELETE
FROM duerow_noted
WHERE duerow_noted.name IN (SELECT given."key"
FROM (SELECT given_rows.value AS "key"
FROM json_each(:given) AS given_rows) AS given)
RETURNING name
