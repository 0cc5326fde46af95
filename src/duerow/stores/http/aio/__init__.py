"""The async connections to the API."""
