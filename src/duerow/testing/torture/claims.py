"""When the claims of a process began: so that a verdict can tell what each of them must have seen."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Any

from duerow import Message
from duerow.testing.torture.ledger import now

KEPT = 500
"""Claims that are remembered."""


class Claims:
    """Is told of the points of a database's work, and remembers from when to when each claim went on.

    Args:
        comparable: whether the times at which messages were lent are those of this machine's clock.
    """

    def __init__(self, comparable: bool = True) -> None:
        self._comparable = comparable
        self._open: dict[Any, int] = {}
        self._over: deque[tuple[int, int]] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def told(self, point: str) -> None:
        """Note when a claim begins and when it is committed."""
        if point == "reserve: before":
            with self._lock:
                self._open[_who()] = now()
        elif point == "reserve: committed":
            with self._lock:
                began = self._open.pop(_who(), None)
                if began is not None:
                    self._over.append((began, now()))

    def since(self, message: Message) -> int | None:
        """Return when the claim began that handed a message out, the earliest of those that may be it; None: unknown.

        Found by the time at which the database lent the message: its clock is that of this machine.
        """
        if message.last_attempt_at is None or not self._comparable:
            return None
        lent = int(message.last_attempt_at.timestamp() * 1_000_000)
        with self._lock:
            return min((began for began, ended in self._over if began <= lent <= ended), default=None)


def _who() -> Any:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return threading.get_ident() if task is None else task
