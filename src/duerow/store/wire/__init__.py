"""A store's operations as JSON: how a store behind HTTP and the API that leads to it understand each other."""
