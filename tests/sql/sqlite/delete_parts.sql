-- Take the parts of sets away.
DELETE
FROM duerow_part
WHERE duerow_part.set_id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)
