-- Take away the entries that were staged under the given numbers.
DELETE
FROM duerow_staged
WHERE duerow_staged.staging_id IN (SELECT given.staging_id
FROM (SELECT given_rows.value AS staging_id
FROM json_each(:given) AS given_rows) AS given)
