"""The benchmark: duerow beside hand-written SQL and its peers, in the same run on the same server."""
