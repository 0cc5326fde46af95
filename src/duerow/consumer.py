"""The name of a consumer: which host, process and worker has a message, and the claim that took it."""

from __future__ import annotations

import os
import secrets
import socket

_HOST = socket.gethostname()


def consumer_name(worker: str) -> str:
    """Return the name of a worker of this process: host:pid:worker."""
    return f"{_HOST}:{os.getpid()}:{worker}"


def new_claim(worker: str = "-") -> str:
    """Return a name for one reserve call, unique everywhere: host:pid:worker/claim."""
    return f"{consumer_name(worker)}/{secrets.token_hex(6)}"
