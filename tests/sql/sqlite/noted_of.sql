-- Read which of the given names are noted.
SELECT duerow_noted.name
FROM duerow_noted
WHERE (duerow_noted.name) IN (SELECT given.name
FROM (SELECT given_rows.value AS name
FROM json_each(:given) AS given_rows) AS given)
