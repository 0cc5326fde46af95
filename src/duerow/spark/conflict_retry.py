"""Make a retry of a killed Spark task wait until the database has undone the killed task's transaction.

Some databases notice at once that the client of a transaction is gone. Others keep the transaction open for a while,
and reject every conflicting write in the meantime. Spark tries a task four times within seconds, so such a retry has
to wait.
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
"""Seconds to wait for a killed process's transaction: a server keeps it for a minute and checks every 30 seconds."""

LONGEST_PAUSE: Final = 2.0
"""The longest pause between two tries, in seconds."""


def outlast(ask: Callable[[], T], again: Callable[[], bool] = lambda: True) -> T:
    """Return the result of `ask`; call it again as long as it loses conflicts with other transactions.

    Args:
        ask: a function that takes effect at most once, however often it is called.
        again: returns whether it can still be called again.

    Raises:
        Conflict: it kept losing conflicts for too long, or cannot be called again.
    """
    return keep_trying(ask, Conflict, Backoff(LONGEST_PAUSE), ABANDONED, time.sleep, tell=_tell, again=again)


def _tell(lost: Conflict) -> None:
    LOG.info("waiting for another transaction, perhaps of a killed try of this task: %s", lost)


class Rest(Generic[T]):
    """The rest of an iterator, which records whether anything was read from it.

    Args:
        iterator: the iterator.
    """

    def __init__(self, iterator: Iterator[T]) -> None:
        self._iterator, self.touched = iterator, False

    def __iter__(self) -> Iterator[T]:
        """Return itself."""
        return self

    def __next__(self) -> T:
        """Return the next item."""
        self.touched = True
        return next(self._iterator)
