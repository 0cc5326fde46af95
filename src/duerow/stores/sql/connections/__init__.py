"""How steps reach a SQL database, on both faces."""
