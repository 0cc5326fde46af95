"""The awaited way to MongoDB; tools/generate_sync.py makes a part of `sync` beside it from it."""
