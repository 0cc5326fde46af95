"""duerow in frameworks."""
