-- Undo what was done since `savepoint`.
ROLLBACK TRANSACTION duerow_row
