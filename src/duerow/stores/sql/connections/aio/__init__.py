"""Async access to an SQL database; tools/generate_sync.py generates part of the sibling folder `sync` from it."""
