-- Take the parts of sets away.
DELETE
FROM duerow_part
WHERE duerow_part.set_id IN (SELECT given.id
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id))
