"""Complete programs that use duerow, to read and to run."""
