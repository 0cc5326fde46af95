"""When the claims of a process began, so that a verdict can tell what each of them must have seen."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Any

from duerow import Message
from duerow.testing.torture.ledger import now

KEPT = 500
"""How many claims are remembered."""


class Claims:
    """Hears of the points of a database's work, and remembers when each claim began and ended.

    Args:
        comparable: whether the times at which messages were lent come from this machine's clock.
    """

    def __init__(self, comparable: bool = True) -> None:
        self._comparable = comparable
        self._open: dict[Any, int] = {}
        self._over: deque[tuple[int, int]] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def told(self, point: str) -> None:
        """Record when a claim begins and when it is committed."""
        if point == "reserve: before":
            with self._lock:
                self._open[_who()] = now()
        elif point == "reserve: committed":
            with self._lock:
                began = self._open.pop(_who(), None)
                if began is not None:
                    self._over.append((began, now()))

    def since(self, message: Message) -> int | None:
        """Return when the claim that handed out a message began, the earliest if several are possible; None: unknown.

        The claim is found by the time at which the database lent the message, because they share a clock.
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
