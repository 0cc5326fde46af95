-- Mark the place in a transaction to which `to_savepoint` goes back.
SAVE TRANSACTION duerow_row
