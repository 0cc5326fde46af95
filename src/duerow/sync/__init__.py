"""The blocking face; its names are those of `duerow` itself. Made from `duerow.aio`, but for the worker."""
