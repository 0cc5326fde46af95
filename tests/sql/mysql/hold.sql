-- Write nothing, but as the first step of a transaction: SQLite then lets nobody else begin to write.
DELETE
FROM duerow_message
WHERE 1 = 0
