"""Many workers on one store, in one process and in an order that a seed says: each statement may be interrupted."""
