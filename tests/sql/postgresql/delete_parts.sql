-- Take the parts of sets away.
DELETE
FROM duerow_part
WHERE duerow_part.set_id IN (SELECT given.set_id
FROM unnest(CAST(CAST(:given_set_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(set_id))
