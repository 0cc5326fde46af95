"""The blocking way to the API."""
