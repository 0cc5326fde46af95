-- Read the parts of sets, in no order: to ask for one can make a database read the parts of all sets.
SELECT duerow_part.set_id, duerow_part.part_id, CAST(duerow_part.content AS TEXT) AS content
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id)
JOIN duerow_part ON duerow_part.set_id = given.id
