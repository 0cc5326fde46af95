"""What each statement costs beside a crowd of other messages: which indexes it uses, and how many rows it looks at."""
