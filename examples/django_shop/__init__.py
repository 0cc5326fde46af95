"""A shop in Django: see README.md."""
