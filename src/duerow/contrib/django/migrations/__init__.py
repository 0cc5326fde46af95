"""Found by Django, by its place."""
