-- statement: check_constraints
-- Check deferred constraints now, if the database has any.
SET CONSTRAINTS ALL IMMEDIATE

-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVEPOINT duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
UPDATE duerow_message
SET status='dead', due_at=NULL, behind_at=NULL, token=CASE WHEN (duerow_message.token < 9223372036854775807) THEN
    duerow_message.token + 1 ELSE 0 END, leased_by=NULL, leased_until=NULL, last_error=CAST(given.error AS JSON)
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[]))
    AS given(id, error)
WHERE duerow_message.id = given.id
RETURNING duerow_message.id, duerow_message.key, duerow_message.attempts, duerow_message."group"

-- statement: to_savepoint
-- Undo what was done since `savepoint`.
ROLLBACK TO SAVEPOINT duerow_row
