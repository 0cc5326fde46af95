"""What the databases read: every statement as text, kept beside the tests and reviewed like code."""
