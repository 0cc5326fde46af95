"""The plans of the SQL stores: which statements run, in which order, and what their answers mean."""
