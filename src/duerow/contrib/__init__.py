"""What duerow adds to frameworks: a room for each, which imports nothing of the others."""
