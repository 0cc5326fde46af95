"""The awaited connections to the API."""
