-- Take away the entries that were staged under the given numbers.
DELETE
FROM duerow_staged
WHERE duerow_staged.staging_id IN (SELECT given.staging_id
FROM unnest(CAST(CAST(:given_staging_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(staging_id))
