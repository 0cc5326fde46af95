-- Take the parts of sets away.
DELETE
FROM duerow_part
WHERE duerow_part.set_id IN (SELECT given.set_id
FROM (SELECT given_rows.value AS set_id
FROM json_each(:given) AS given_rows) AS given)
