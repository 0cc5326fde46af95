"""The blocking face, whose names `duerow` itself exports. It is generated from `duerow.aio`, except for the worker."""
