"""What a verdict reads besides the ledger, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

NEVER = 1 << 62
"""A place in the ledger that no line has."""


@dataclass(frozen=True)
class Row:
    """A message that is in the tables at the end."""

    id: int
    queue: str
    status: str
    payload: Mapping[str, Any]
    headers: Mapping[str, Any] = field(default_factory=dict)
    group: str | None = None
    leased_by: str | None = None
    why: str = ""


@dataclass(frozen=True)
class Turn:
    """A turn in the history."""

    id: int
    token: int
    queue: str
    outcome: str
    attempts: int = 0
    worker: str | None = None
    finished_at: str = ""


@dataclass(frozen=True)
class Item:
    """A row of the application's own table at the end.

    Attributes:
        record: its name.
        handled: how many handlers have finished with it.
        status, is_due, leased_by, attempts, token: its place in the queue.
    """

    record: str
    handled: int
    status: str
    is_due: bool = False
    leased_by: str | None = None
    attempts: int = 0
    token: int = 0


@dataclass(frozen=True)
class Span:
    """The ticks of the schedule from the first one to the last one that is known.

    Attributes:
        first: None: nobody looked; then it is that of the first message.
        last: None: none became a message.
    """

    first: datetime | None
    last: datetime | None


@dataclass(frozen=True)
class BrokenPromise:
    """A promise that was not kept.

    Attributes:
        what: in words.
        messages: about which ones.
        acts: the pushes and operations that matter to it.
        records: about which records and rows.
        kind: which promise it is, in short.
    """

    what: str
    messages: tuple[int, ...]
    acts: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Entry:
    """How a message came into its group, or came back: from when on at the latest it must have been seen there.

    Attributes:
        act: by which act.
        began: the place in the ledger before which that cannot have been.
        over: the place in the ledger, and the time, at which it surely was there; NEVER: nobody can tell.
        at: see `over`.
    """

    act: str | None
    began: int
    over: int
    at: int
