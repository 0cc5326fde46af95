"""What a worker has in hand: claimed, waiting for a handler, being handled, decided and not yet settled.

No I/O and no waiting. Threads share it without a lock of its own: each change is one atomic operation of a deque or a
set, and where two want to end the same attempt, its slot decides.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any, Final

import msgspec

from duerow.reservation import BareReservation
from duerow.settlement import Settlement
from duerow.worker.attempt import Attempt
from duerow.worker.prefetch import Prefetch

NEVER: Final = 1e6
"""Seconds after which nobody waits any more."""


class Ended(msgspec.Struct, frozen=True, gc=False, eq=False):
    """An attempt, and how its turn ends. No tuple, since Python's garbage collection would look at each."""

    attempt: Attempt
    settlement: Settlement


def by_queue(batch: Iterable[Ended]) -> Iterable[list[Ended]]:
    """Return decided turns apart by the queues of their messages."""
    parts: dict[str, list[Ended]] = {}
    for ended in batch:
        parts.setdefault(ended.attempt.message.queue, []).append(ended)
    return parts.values()


class Slot:
    """A place for one running handler, with a thread or a task of its own, until that is given up on.

    Attributes:
        attempt: what is being handled, of a batch the first; None between two messages.
        batch: all that is being handled, by a handler of whole batches; empty otherwise.
        started: when that began, on the monotonic clock in seconds.
        abandoned: whether its handler was given up on; it must take no further message then.
        runner: the thread or task.
    """

    __slots__ = ("_ending", "abandoned", "attempt", "batch", "runner", "started")

    def __init__(self) -> None:
        self.attempt: Attempt | None = None
        self.batch: Sequence[Attempt] = ()
        self.started = 0.0
        self.abandoned = False
        self.runner: Any = None
        self._ending = threading.Lock()

    def begin(self, attempt: Attempt) -> None:
        """Note what is handled from now on."""
        self.started = monotonic()  # first, so that whoever sees the attempt sees its own start
        self.attempt = attempt

    def prepare(self, *attempts: Attempt) -> None:
        """Note what will be handled when it can be: until it begins, it does not run out of time."""
        self.started = monotonic() + NEVER
        self.batch = attempts if len(attempts) > 1 else ()
        self.attempt = attempts[0]

    def begin_batch(self, batch: Sequence[Attempt]) -> None:
        """Note what is handled together from now on."""
        self.batch = batch
        self.begin(batch[0])

    def end(self) -> bool:
        """Return whether the handler that just ended may decide its turn: not if it was abandoned."""
        with self._ending:
            self.attempt = None
            return not self.abandoned

    def abandon(self, attempt: Attempt) -> bool:
        """Give up on a running handler; return whether it was still running, so that its turn is ours to decide."""
        with self._ending:
            if self.attempt is not attempt:
                return False
            self.attempt, self.abandoned = None, True
            return True


class InFlight:
    """All that was claimed and is not durably settled.

    Attributes:
        held: every attempt in hand.
        apart: those of them that are handled with nothing else in hand, while there are such.
        waiting: those not begun, the oldest first.
        ended: those that are decided and wait to be settled, in the order in which they ended.
        pace: what handling takes.
    """

    def __init__(self, pace: Prefetch, clock: Callable[[], float] = monotonic) -> None:
        self.pace = pace
        self.held: set[Attempt] = set()
        self.apart: set[Attempt] = set()
        self.waiting: deque[Attempt] = deque()
        self.ended: deque[Ended] = deque()
        self._clock = clock

    def room(self) -> int:
        """How many to claim now."""
        return 0 if self.apart else self.pace.room(len(self.held))

    @property
    def alone(self) -> bool:
        """Whether there are such that are handled apart, and nothing else is in hand."""
        return bool(self.apart) and len(self.held) == len(self.apart)

    def wanted(self) -> bool:
        """Whether whoever claims has something to do now that something was settled."""
        return self.alone or self.room() > 0

    def take_in(self, reservations: Iterable[BareReservation], since: float) -> list[Attempt]:
        """Hold what was claimed at `since`."""
        attempts = [Attempt(reservation, since, since) for reservation in reservations]
        self.held.update(attempts)
        return attempts

    def next(self) -> Attempt | None:
        """Take the next message to be begun."""
        try:
            return self.waiting.popleft()
        except IndexError:
            return None

    def next_batch(self, limit: int) -> list[Attempt]:
        """Take the next messages to be begun together: up to so many, all of one queue."""
        batch: list[Attempt] = []
        try:
            while len(batch) < limit:
                attempt = self.waiting.popleft()
                if batch and attempt.message.queue != batch[0].message.queue:
                    self.waiting.appendleft(attempt)
                    break
                batch.append(attempt)
        except IndexError:
            pass
        return batch

    def end(self, attempt: Attempt, settlement: Settlement) -> None:
        """Note how a turn is to end."""
        attempt.finished = True
        self.ended.append(Ended(attempt, settlement))

    def end_batch(self, batch: Sequence[Ended]) -> None:
        """Note how turns are to end, all at once: so their room is free at once as well, for a batch as large."""
        for ended in batch:
            ended.attempt.finished = True
        self.ended.extend(batch)

    def take_ended(self, limit: int) -> list[Ended]:
        """Take up to so many decided turns to be settled; they stay in hand."""
        batch: list[Ended] = []
        try:
            while len(batch) < limit:
                batch.append(self.ended.popleft())
        except IndexError:
            pass
        return batch

    def let_go(self, attempts: Iterable[Attempt]) -> None:
        """They are durably settled, or no longer ours."""
        for attempt in attempts:
            self.held.discard(attempt)
            self.apart.discard(attempt)
            if attempt.told:
                attempt.closed()

    def withdraw(self, attempt: Attempt) -> bool:
        """Take a message that was not begun out of the line; return whether it was still there."""
        try:
            self.waiting.remove(attempt)
        except ValueError:
            return False
        return True

    def ours(self) -> Sequence[Attempt]:
        """Those whose lease has to go on: in hand, and neither lost nor given up on."""
        return [attempt for attempt in self.held.copy() if attempt.error is None]
