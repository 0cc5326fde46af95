"""The blocking way to MongoDB."""
