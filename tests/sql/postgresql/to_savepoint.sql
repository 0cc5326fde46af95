-- Undo what was done since `savepoint`.
ROLLBACK TO SAVEPOINT duerow_row
