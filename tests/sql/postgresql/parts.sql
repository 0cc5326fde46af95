-- Read the parts of sets, each set's in the order of their ids.
SELECT duerow_part.set_id, duerow_part.part_id, CAST(duerow_part.content AS TEXT) AS content
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id)
JOIN duerow_part ON duerow_part.set_id = given.id
ORDER BY duerow_part.set_id, duerow_part.part_id
