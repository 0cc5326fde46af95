"""The HTTP API: queues for programs in any language."""
