-- Mark rows of groups that are to be taken away as lent, so that nobody lends others of their groups.
UPDATE duerow_message
SET leased_by='taken away'
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id)
WHERE duerow_message.id = given.id
