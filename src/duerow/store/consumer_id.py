"""How a consumer identifies itself: its name (host, process, worker and claim) and its version of duerow."""

from __future__ import annotations

import os
import secrets
import socket
from functools import cache
from importlib.metadata import version
from itertools import count

from duerow.errors import InvalidMessage, shown
from duerow.payload.codec import storable

_HOST = socket.gethostname()

_CUT_OFF = "/unreachable"

# Random for each process and counted for each claim: asking the system for random bytes lets another thread run first.
_process = secrets.token_hex(6)
_claims = count()


def _begin_anew() -> None:
    global _process
    _process = secrets.token_hex(6)


if hasattr(os, "register_at_fork"):  # otherwise a child could repeat names if it gets the process id of an earlier one
    os.register_at_fork(after_in_child=_begin_anew)


def consumer_name(worker: str) -> str:
    """Return the name of a worker of this process: host:pid:worker."""
    return f"{_HOST}:{os.getpid()}:{worker}"


def new_claim(worker: str = "-") -> str:
    """Return a globally unique name for one reserve call: host:pid:worker/claim."""
    return f"{consumer_name(worker)}/{_process}{next(_claims):x}"


@cache
def own_version() -> str:
    """Return the version of duerow, read only once: reading it parses all package metadata, README included."""
    return version("duerow")


def cut_off(worker: str) -> str:
    """Return the name with which a worker reports that it cannot reach the database to which it sends."""
    return f"{worker}{_CUT_OFF}"


def is_cut_off(consumer: str) -> bool:
    """Return whether a consumer has reported that it cannot reach the database to which it sends."""
    return consumer.endswith(_CUT_OFF)


def check_consumer(name: object) -> str:
    """Return the name if it is a valid consumer name, else raise InvalidMessage."""
    if not isinstance(name, str) or not name or storable(name) != name:
        raise InvalidMessage(f"a consumer cannot be called {shown(name)}: use text such as host:pid:worker/claim")
    return name
