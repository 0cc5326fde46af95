"""The values that a verdict reads in addition to the ledger, and those that it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

NEVER = 1 << 62
"""A place in the ledger after all lines."""


@dataclass(frozen=True)
class Row:
    """A message that is in the tables when the run ends."""

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
class Span:
    """The ticks of the schedule, from the first to the last known one.

    Attributes:
        first: the first tick; None if it was not recorded: then it is the tick of the first message.
        last: the last tick; None if no tick became a message.
    """

    first: datetime | None
    last: datetime | None


@dataclass(frozen=True)
class BrokenPromise:
    """A promise that was not kept.

    Attributes:
        what: the violation, in words.
        messages: the messages concerned.
        acts: the pushes and operations concerned.
    """

    what: str
    messages: tuple[int, ...]
    acts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """How a message came into its group, or came back, and from when on every claim must have seen it there.

    Attributes:
        act: the act that brought it there.
        began: the place in the ledger before which that cannot have happened.
        over: the place in the ledger, and the time, at which it certainly was there; NEVER: nobody can tell.
        at: see `over`.
    """

    act: str | None
    began: int
    over: int
    at: int
