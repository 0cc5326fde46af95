"""The differences between the SQL databases: code elsewhere does not depend on which database it is."""
