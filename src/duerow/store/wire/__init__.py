"""A store's operations as JSON: the language between a store behind HTTP and the API that serves it."""
