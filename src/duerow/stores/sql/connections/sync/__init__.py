"""Blocking access to an SQL database."""
