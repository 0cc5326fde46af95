-- Read which of the given names are noted.
SELECT found.name
FROM unnest(CAST(CAST(:given_name::VARCHAR AS TEXT) AS TEXT[])) AS given(name)
JOIN LATERAL (SELECT duerow_noted.name AS name
FROM duerow_noted
WHERE duerow_noted.name = given.name
LIMIT 1) AS found ON true
