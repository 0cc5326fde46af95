"""The blocking twin of `duerow.aio.offload`: the caller waits anyway, so the work is done at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from duerow.message import Draft
from duerow.payload.encoding import Payloads
from duerow.plan import Execute, Plan, run
from duerow.queue import mapping
from duerow.queue.mapping import entry as entry
from duerow.store import Entry, Refused, Turn

T = TypeVar("T")

Transaction = Callable[[], T]
"""Executes a transaction, from the start each time."""

Writing = Callable[[list[Turn]], list[Refused]]
"""Writes how turns end, and returns the refused ones."""

MANY: Final = 2_000
"""As on the async face, where a call with this many messages or more works in a thread."""


def off(work: Callable[[], T]) -> T:
    """Do some work."""
    return work()


def done(work: Callable[[], T], many: int) -> T:
    """Do some work."""
    return work()


def entries(drafts: Sequence[Draft[Any]], queue: str, max_bytes: int, payloads: Payloads) -> list[Entry]:
    """Return the entries of drafts; see `duerow.queue.mapping.draft_entries`."""
    return mapping.draft_entries(drafts, queue, max_bytes, payloads)


def carrying(many: int) -> Callable[[Plan[T], Execute], T]:
    """Return the function that executes a plan for this many messages."""
    return run
