"""What a ledger knows of messages and queues, and how it says that a promise was broken."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from duerow.reservation import Receipt
from duerow.store import Retention

KEEP: Final = {
    "mail": Retention(history=timedelta(days=1)),
    "bills": Retention(history=timedelta(days=1), keys=timedelta(seconds=6)),
}
"""What queues keep of finished turns."""

LEARNT_WITHIN: Final = 0.7
"""Seconds after which every process knows that a queue was paused or closed; half a second is what it remembers."""


class BrokenPromise(AssertionError):
    """What a store did, against what it promises.

    Attributes:
        rule: the promise.
    """

    def __init__(self, rule: str, told: str) -> None:
        self.rule = rule
        super().__init__(f"{rule}: {told}")


Moment = tuple[int, datetime]
"""How many calls were over, and what time it was."""


@dataclass(slots=True)
class Hand:
    """A turn that nothing has ended yet."""

    token: int
    until: datetime


@dataclass(slots=True)
class Known:
    """A message, as far as its callers know.

    Attributes:
        place: its due time, if it is known from the release of its last turn.
    """

    id: int
    queue: str
    key: str | None
    group: str | None
    attempts: int | None = 0
    token: int = 0
    dead: bool = False
    hand: Hand | None = None
    place: datetime | None = None


class Since:
    """Which queues are in a state, and since when; times are pairs of how many calls were over, and the time."""

    def __init__(self, learnt: float) -> None:
        self._learnt = timedelta(seconds=learnt)
        self._on: dict[str, Moment] = {}
        self._off: dict[str, Moment] = {}

    def set(self, queue: str, holds: bool, now: Moment) -> None:
        """Note a change."""
        if holds:
            self._on.setdefault(queue, now)
        elif self._on.pop(queue, None) is not None:
            self._off[queue] = now

    def surely(self, queue: str, began: Moment) -> bool:
        """Return whether a call that began then must have noticed."""
        since = self._on.get(queue)
        return since is not None and since[0] <= began[0] and since[1] + self._learnt <= began[1]

    def perhaps(self, queue: str, began: Moment) -> bool:
        """Return whether a call that began then may have believed it."""
        ended = self._off.get(queue)
        if queue in self._on:
            return True
        return ended is not None and (ended[0] > began[0] or ended[1] + self._learnt > began[1])


def receipt_of(receipt: Receipt) -> tuple[int, int]:
    """Return the id and the token of a receipt."""
    return receipt.id, receipt.token


def parts_of(payload: str) -> tuple[str, list[int] | None]:
    """Return the correlation and the ids of the parts of a set; None: it still waits for parts."""
    content = msgspec.json.decode(payload)
    parts = content.get("parts")
    return content["correlation"], None if parts is None else [part["id"] for part in parts]
