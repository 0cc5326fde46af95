"""How long workers wait, and keep asking, while their database is unavailable."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from duerow.backoff import Delays, keep_trying
from duerow.errors import StoreUnavailable

T = TypeVar("T")

FIRST_PAUSE: Final = 0.1
"""The maximum number of seconds to wait after the first failure."""

LONGEST_PAUSE: Final = 5.0
"""The maximum number of seconds to wait after many failures."""


class Backoff(Delays):
    """How long to wait after failures: from FIRST_PAUSE, doubling up to `most`, randomly shortened by up to a half."""

    def __init__(self, most: float = LONGEST_PAUSE) -> None:
        super().__init__(FIRST_PAUSE, most)


def patiently(
    ask: Callable[[], T],
    seconds: float,
    wait: Callable[[float], object] = time.sleep,
    tell: Callable[[StoreUnavailable], None] | None = None,
) -> T:
    """Return a database's answer; while it is unavailable, ask again.

    Args:
        ask: asks the database.
        seconds: how long to keep asking.
        wait: waits for this many seconds; if it returns something true, the wait is given up.
        tell: called with the first error.

    Raises:
        StoreUnavailable: the database was unavailable for too long, or the wait was given up.
    """
    return keep_trying(ask, StoreUnavailable, Backoff(), seconds, wait, tell=tell)
