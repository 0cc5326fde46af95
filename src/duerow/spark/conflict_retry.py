"""A try of a task that comes after a killed one waits until the database undoes what that one had begun.

Some databases learn at once that who had begun a transaction is gone. Others cannot, and let it stand for a time of
their own; whoever writes the same is refused meanwhile, at once and each time. Spark tries a task four times within
seconds, so such a try has to wait.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from duerow.errors import Conflict
from duerow.worker.prefetch import Backoff

T = TypeVar("T")

LOG: Final = logging.getLogger("duerow.spark")

ABANDONED: Final = 100.0
"""Seconds for which the transaction of a killed process is waited for: a minute is what a server lets it stand, and it
looks for such every half minute."""


def outlast(ask: Callable[[], T], again: Callable[[], bool] = lambda: True) -> T:
    """Return what `ask` returns; while it loses against another transaction, ask again.

    Args:
        ask: what happens once at the most, however often it is asked.
        again: whether it can still be asked again.

    Raises:
        Conflict: it lost for too long, or cannot be asked again.
    """
    pause, until = Backoff(2.0), time.monotonic() + ABANDONED
    while True:
        try:
            return ask()
        except Conflict as lost:
            if time.monotonic() > until or not again():
                raise
            if not pause.failing:
                LOG.info("waiting for another transaction, perhaps of a killed try of this task: %s", lost)
            time.sleep(pause.next())


class Rest(Generic[T]):
    """What is left of an iterator, and whether it was touched.

    Args:
        iterator: what is left.
    """

    def __init__(self, iterator: Iterator[T]) -> None:
        self._iterator, self.touched = iterator, False

    def __iter__(self) -> Iterator[T]:
        """Return itself."""
        return self

    def __next__(self) -> T:
        """Return the next one."""
        self.touched = True
        return next(self._iterator)
