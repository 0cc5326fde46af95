"""The plans of the in-memory store, one file for each part of the contract."""
