"""What messages carry: how it is written as JSON, typed, and read back."""
