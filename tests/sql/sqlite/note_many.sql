-- Note names, in their order; return those that were not noted yet, also by who commits at this
-- moment.
INSERT INTO duerow_noted (name, noted_at) SELECT given.name, :now AS anon_1
FROM (SELECT given_rows.value AS name
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.name
ON CONFLICT (name) DO NOTHING
RETURNING name
