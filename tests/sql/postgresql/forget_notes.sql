-- Take names away; return them.
DELETE
FROM duerow_noted
WHERE duerow_noted.name IN (SELECT given.key
FROM unnest(CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS given(key))
RETURNING duerow_noted.name
