"""What differs between the SQL databases, one file each; nothing else asks the database."""
