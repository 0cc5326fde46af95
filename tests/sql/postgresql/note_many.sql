-- Note names, in their order; return those that were not noted yet, also by who commits at this
-- moment.
INSERT INTO duerow_noted (name, noted_at) SELECT given.name, statement_timestamp() AS statement_timestamp_1
FROM unnest(CAST(CAST(:given_name::VARCHAR AS TEXT) AS TEXT[])) AS given(name)
WHERE 1 = 1
ORDER BY given.name
ON CONFLICT (name) DO NOTHING
RETURNING duerow_noted.name
