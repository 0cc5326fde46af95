"""A folder for each family of databases; no other code knows their names."""
