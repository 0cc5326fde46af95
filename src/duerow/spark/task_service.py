"""A task that serves several message stations: they take turns, and the task waits while none has anything due.

So a message goes through all stations without the start of a Spark job in between. The task ends by itself: when its
time is up, when nothing has been due for long enough, when other kinds of stations need its slot, or when the driver
recalls it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Final, TypeVar

from duerow.queue.reserved import RESERVED
from duerow.spark.consumer import OUTAGE, SHORT_TURN, OnlyKinds, Tally, TaskConsumer, due_in, is_due
from duerow.spark.driver_sleep import DriverSleep
from duerow.sync.database import Database
from duerow.sync.own_messages import OwnMessages
from duerow.worker.outage import patiently

T = TypeVar("T")

RECALLS: Final = f"{RESERVED}recalls"
"""The queue in which drivers leave messages for their tasks: the key says which tasks should end."""

COUNTED: Final = 10.0
"""Seconds after which the counts for `stats` are written again, as workers do."""

FOR_EVER: Final = float("inf")


@dataclass(frozen=True)
class Terms:
    """How long a task serves its stations.

    Attributes:
        recall: the key of the message in RECALLS that ends the task.
        seconds: the time after which the task ends even if more is due.
        idle: how many seconds the task waits while nothing is due.
        others: the queues of stations that need slots of their own: if something is due there, the task ends.
        patience: for how many seconds something must have been due there without a break.
        only: see `OnlyKinds`.
    """

    recall: str
    seconds: float
    idle: float = 0.0
    others: Sequence[str] = ()
    patience: float = 0.0
    only: OnlyKinds = field(default_factory=dict)


class TaskService:
    """The consumers of one task. Each handles one chunk at a time, so that no backlog keeps other stations waiting.

    Args:
        database: the database of their queues.
        consumers: the consumers, one for each station.
        terms: how long they work.
    """

    def __init__(self, database: Database, consumers: Sequence[TaskConsumer], terms: Terms) -> None:
        self._database, self._terms, self._consumers = database, terms, deque(consumers)
        self._tallies = {one.name: Tally() for one in consumers}
        self._queues = [one.name for one in consumers]
        self._known = {one.name for one in consumers if one.only}
        heard = [*self._queues, *terms.others, RECALLS]
        self._sleep = DriverSleep("serving", database.queue(self._queues[0]), heard)
        if terms.idle == FOR_EVER:  # it takes over from another task, or from the driver, which would have slept on
            self._sleep.rest()
        self._never = threading.Event()
        self._looked_at = monotonic() - (SHORT_TURN if terms.idle else 0.0)  # it may have been recalled before it began
        self._others_since: float | None = None
        self._counted_at = monotonic()
        self._ends = self._looked_again = False
        self._claims = True  # after a sleep that no push ended, a look comes before the next claims

    def work(self) -> Mapping[str, Tally]:
        """Work until the terms end it; return what was done for each station."""
        until = last = monotonic()
        until += self._terms.seconds
        try:
            while not self._is_over(until):
                if monotonic() - self._counted_at > COUNTED:
                    self._write_counts()
                if self._claims and self._take_turns(until):
                    last = monotonic()
                elif (left := min(until, last + self._terms.idle) - monotonic()) > 0:
                    self._wait(left)
                else:
                    break
        finally:
            self._sleep.close()
        for one in self._consumers:
            one.mark_left(self._tallies[one.name], one.name in self._known)
        self._write_counts()
        return self._tallies

    def _write_counts(self) -> None:
        self._counted_at = monotonic()
        self._consumers[0].write_counts()

    def _take_turns(self, until: float) -> bool:
        """Let each consumer handle a chunk; return whether any of them found something."""
        found = False
        for _ in range(len(self._consumers)):
            consumer = self._consumers[0]
            self._consumers.rotate(-1)
            if consumer.take(self._tallies[consumer.name]):
                found = True
                if self._is_over(until):
                    break
        self._sleep.started(found)
        return found

    def _is_over(self, until: float) -> bool:
        if self._claims and monotonic() - self._looked_at >= SHORT_TURN:  # the look after a sleep finds recalls too
            self._look()
        return self._ends or monotonic() >= until

    def _look(self) -> None:
        """Find out whether the task should end although it has time left."""
        self._looked_at = monotonic()
        self._ends = self._is_recalled() or self._others_wait()

    def _is_recalled(self) -> bool:
        recall = self._terms.recall
        return bool(self._patiently(lambda: OwnMessages(self._database, RECALLS).read([recall])))

    def _others_wait(self) -> bool:
        """Return whether something has been due in the other queues for long enough."""
        others = self._terms.others
        if not others or not is_due(self._patiently(lambda: due_in(self._database, others, self._only))):
            self._others_since = None
            return False
        now = monotonic()
        self._others_since = now if self._others_since is None else self._others_since
        return now - self._others_since >= self._terms.patience

    def _wait(self, seconds: float) -> None:
        """Sleep until something may be due that was not there at the last turn."""
        self._sleep.listen()
        most = min(seconds, self._sleep.poll)
        wait = timedelta(seconds=most)
        due = self._patiently(lambda: due_in(self._database, self._sleep.queues, self._only, wait))
        if is_due(due):
            self._look()
            if self._ends or not self._looked_again:  # it came after the last turn: the next one will find it
                self._claims = self._looked_again = True
                return
        self._looked_again = False
        self._claims = self._sleep.sleep(most, due, self._never)

    @property
    def _only(self) -> OnlyKinds:
        return {**self._terms.only, **{name: kinds for one in self._consumers for name, kinds in one.only.items()}}

    def _patiently(self, ask: Callable[[], T]) -> T:
        return patiently(ask, OUTAGE)
