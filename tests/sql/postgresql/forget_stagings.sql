-- Take away the notes of what was staged under the given numbers.
DELETE
FROM duerow_staging
WHERE duerow_staging.id IN (SELECT given.id
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id))
