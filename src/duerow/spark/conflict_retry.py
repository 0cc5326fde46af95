"""A retry of a killed Spark task waits until the database has undone the killed task's transaction.

Some databases learn at once that who had begun a transaction is gone. Others cannot, and let it stand for a time of
their own; whoever writes the same is refused meanwhile, at once and each time. Spark tries a task four times within
seconds, so such a try has to wait.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from duerow.backoff import keep_trying
from duerow.errors import Conflict
from duerow.worker.outage import Backoff

T = TypeVar("T")

LOG: Final = logging.getLogger("duerow.spark")

ABANDONED: Final = 100.0
"""Seconds for which the transaction of a killed process is waited for: a minute is what a server lets it stand, and it
looks for such every half minute."""

LONGEST_PAUSE: Final = 2.0
"""The most seconds between two tries."""


def outlast(ask: Callable[[], T], again: Callable[[], bool] = lambda: True) -> T:
    """Return the result of `ask`; call it again as long as it loses a conflict with another transaction.

    Args:
        ask: what happens once at the most, however often it is asked.
        again: whether it can still be asked again.

    Raises:
        Conflict: it lost for too long, or cannot be asked again.
    """
    return keep_trying(ask, Conflict, Backoff(LONGEST_PAUSE), ABANDONED, time.sleep, tell=_tell, again=again)


def _tell(lost: Conflict) -> None:
    LOG.info("waiting for another transaction, perhaps of a killed try of this task: %s", lost)


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
