-- Lock keys whose time to be remembered is over, and read them.
SELECT duerow_remembered.queue, duerow_remembered.key
FROM duerow_remembered
WHERE duerow_remembered.until <= statement_timestamp()
ORDER BY duerow_remembered.until
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED
