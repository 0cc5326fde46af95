"""Whole programs on duerow, to read and to run."""
