"""One folder for each family of databases; nothing else knows their names."""
