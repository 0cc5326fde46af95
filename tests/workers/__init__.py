"""What workers promise, blocking and async alike, on every store."""
