-- Take turns away; return their ids.
DELETE
FROM duerow_history
USING unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS
    BIGINT[])) AS given(id, token)
WHERE duerow_history.id = given.id AND CASE WHEN (duerow_history.token = given.token) THEN true ELSE false END
RETURNING duerow_history.id
