"""The async connections to MongoDB; tools/generate_sync.py generates part of `sync` from this folder."""
