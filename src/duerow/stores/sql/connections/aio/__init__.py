"""The awaited way to an SQL database; tools/generate_sync.py makes a part of `sync` beside it from it."""
