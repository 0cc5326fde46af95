-- Take names away; return them.
DELETE
FROM duerow_noted
WHERE duerow_noted.name IN (SELECT given.name
FROM unnest(CAST(CAST(:given_name::VARCHAR AS TEXT) AS TEXT[])) AS given(name))
RETURNING duerow_noted.name
