-- Mark the place in a transaction to which `to_savepoint` goes back.
SAVEPOINT duerow_row
