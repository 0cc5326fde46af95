"""Rows of a user's own table as messages."""
