"""The blocking way to an SQL database."""
