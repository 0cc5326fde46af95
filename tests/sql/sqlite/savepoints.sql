-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVEPOINT duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
UPDATE duerow_message
SET status='dead', due_at=NULL, behind_at=NULL, token=CASE WHEN (duerow_message.token < 9223372036854775807) THEN
    duerow_message.token + 1 ELSE 0 END, leased_by=NULL, leased_until=NULL, last_error=given.error
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS error
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
RETURNING id, "key", attempts, "group"

-- statement: to_savepoint
-- Undo what was done since `savepoint`.
ROLLBACK TO SAVEPOINT duerow_row
