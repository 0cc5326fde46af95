-- Take away the notes of what was staged under the given numbers.
DELETE
FROM duerow_staging
WHERE duerow_staging.id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)
