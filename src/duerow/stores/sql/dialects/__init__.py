"""What differs between the SQL databases, one file each; nothing else asks which database it is."""
