"""The awaited way to the API."""
