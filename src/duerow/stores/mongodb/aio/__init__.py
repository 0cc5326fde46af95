"""The awaited connections to MongoDB; tools/generate_sync.py generates a part of `sync` from this folder."""
