"""What `where` is made of."""
