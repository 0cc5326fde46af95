-- Read the parts of sets, in no order: to ask for one can make a database read the parts of all sets.
SELECT duerow_part.set_id, duerow_part.part_id, duerow_part.content
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_part ON duerow_part.set_id = given.id
