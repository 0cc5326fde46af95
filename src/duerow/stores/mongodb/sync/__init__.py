"""The blocking connections to MongoDB."""
