-- Lock turns whose time to be kept is over, and read their receipts.
SELECT duerow_history.id, duerow_history.token
FROM duerow_history
WHERE duerow_history.until <= UTC_TIMESTAMP(6)
ORDER BY duerow_history.until
LIMIT :limit_in
FOR UPDATE SKIP LOCKED
