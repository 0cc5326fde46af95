-- Lock keys whose time to be remembered is over, and read them.
SELECT duerow_remembered.queue, duerow_remembered.`key`
FROM duerow_remembered
WHERE duerow_remembered.until <= UTC_TIMESTAMP(6)
ORDER BY duerow_remembered.until
LIMIT :limit_in
FOR UPDATE SKIP LOCKED
