"""The pages, one module each: they read shared values, and return the values for a template."""
