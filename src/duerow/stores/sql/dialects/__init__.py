"""The differences between the SQL databases: a folder for each family, and `base` for the common case."""
