"""The blocking connections to the API."""
