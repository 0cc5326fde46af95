"""Connections to SQL databases, for both faces."""
