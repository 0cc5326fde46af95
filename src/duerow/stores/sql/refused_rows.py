"""Rows that the database refuses to change: claims of this process skip them for a while."""

from __future__ import annotations

import time
from typing import Any, Final

PASSED_OVER_FOR: Final = 60.0
"""The number of seconds until a row is tried again: by then, the cause may have been fixed."""


class RefusedRows:
    """Which rows of which queues are skipped."""

    def __init__(self) -> None:
        self._until: dict[str, dict[Any, float]] = {}

    def add(self, queue: str, id: Any) -> None:
        """Skip a row from now on."""
        self._until.setdefault(queue, {})[id] = time.monotonic() + PASSED_OVER_FOR

    def of(self, queue: str) -> set[Any]:
        """Return the rows of a queue that are skipped."""
        if queue not in self._until:
            return set()
        now = time.monotonic()
        left = {id: until for id, until in self._until[queue].items() if until > now}
        if left:
            self._until[queue] = left
        else:
            del self._until[queue]
        return set(left)
