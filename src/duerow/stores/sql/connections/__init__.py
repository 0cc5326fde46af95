"""Connections to SQL databases, on both faces."""
