"""The name of a consumer: which host, process and worker has a message, and the claim that took it."""

from __future__ import annotations

import os
import secrets
import socket

_HOST = socket.gethostname()


def new_claim(worker: str = "-") -> str:
    """Return a name for one reserve call, unique everywhere: host:pid:worker/claim."""
    return f"{_HOST}:{os.getpid()}:{worker}/{secrets.token_hex(6)}"
