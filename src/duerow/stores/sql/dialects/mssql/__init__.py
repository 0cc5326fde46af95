"""SQL Server."""
