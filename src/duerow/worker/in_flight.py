"""A worker's messages in hand: claimed, waiting for a handler, being handled, or decided but not yet settled.

No I/O and no waiting. Threads share it without locking it: each change is one atomic operation of a deque or a set, and
if two threads want to end the same attempt, its slot decides.
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
from duerow.worker.stack import Look

NEVER: Final = 1e6
"""So many seconds that they never pass."""


class Ended(msgspec.Struct, frozen=True, gc=False, eq=False):
    """An attempt, and how its turn ends. Not a tuple: Python's garbage collection would scan each one."""

    attempt: Attempt
    settlement: Settlement


def by_queue(batch: Iterable[Ended]) -> Iterable[list[Ended]]:
    """Return decided turns, separated by the queues of their messages."""
    parts: dict[str, list[Ended]] = {}
    for ended in batch:
        parts.setdefault(ended.attempt.message.queue, []).append(ended)
    return parts.values()


class Slot:
    """A place for one running handler, with its own thread or task, until the handler is given up on.

    Attributes:
        attempt: the attempt being handled, or the first of a batch; None between two messages.
        batch: all attempts being handled, if the handler takes whole batches; otherwise empty.
        started: when that began, on the monotonic clock in seconds.
        abandoned: whether its handler was given up on; the slot must then take no further message.
        runner: the thread or task.
        look: returns the frames of its handler.
    """

    __slots__ = ("_ending", "abandoned", "attempt", "batch", "look", "runner", "started")

    def __init__(self) -> None:
        self.attempt: Attempt | None = None
        self.batch: Sequence[Attempt] = ()
        self.started = 0.0
        self.abandoned = False
        self.runner: Any = None
        self.look: Look = tuple
        self._ending = threading.Lock()

    def begin(self, attempt: Attempt) -> None:
        """Record what is handled from now on."""
        self.started = monotonic()  # set first, so that a thread that sees the attempt also sees its own start
        self.attempt = attempt

    def prepare(self, *attempts: Attempt) -> None:
        """Record what will be handled once possible: its timeout does not run until it begins."""
        self.started = monotonic() + NEVER
        self.batch = attempts if len(attempts) > 1 else ()
        self.attempt = attempts[0]

    def begin_batch(self, batch: Sequence[Attempt]) -> None:
        """Record which attempts are handled together from now on."""
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
    """Everything that was claimed and is not durably settled.

    Attributes:
        held: every attempt in hand.
        apart: the attempts that must be handled with nothing else in hand, if there are any.
        waiting: the attempts that have not begun, oldest first.
        ended: the attempts that are decided and wait to be settled, in the order in which they ended.
        prefetch: decides how many messages to hold, from how long handling takes.
    """

    def __init__(self, prefetch: Prefetch, clock: Callable[[], float] = monotonic) -> None:
        self.prefetch = prefetch
        self.held: set[Attempt] = set()
        self.apart: set[Attempt] = set()
        self.waiting: deque[Attempt] = deque()
        self.ended: deque[Ended] = deque()
        self._clock = clock

    def room(self) -> int:
        """How many to claim now."""
        return 0 if self.apart else self.prefetch.room(len(self.held))

    @property
    def alone(self) -> bool:
        """Whether some attempts must be handled apart, and nothing else is in hand."""
        return bool(self.apart) and len(self.held) == len(self.apart)

    def wanted(self) -> bool:
        """Whether the fetcher has something to do after a settlement."""
        return self.alone or self.room() > 0

    def take_in(self, reservations: Iterable[BareReservation], since: float) -> list[Attempt]:
        """Add what was claimed at `since`."""
        attempts = [Attempt(reservation, since, since) for reservation in reservations]
        self.held.update(attempts)
        return attempts

    def next(self) -> Attempt | None:
        """Take the next message to start."""
        try:
            return self.waiting.popleft()
        except IndexError:
            return None

    def next_batch(self, limit: int) -> list[Attempt]:
        """Take the next messages to start together: up to `limit`, all from one queue."""
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
        """Record how a turn ends."""
        attempt.finished = True
        self.ended.append(Ended(attempt, settlement))

    def end_all(self, batch: Sequence[Ended]) -> None:
        """Record how several turns end, in one step, so that there is room for a batch of the same size at once."""
        for ended in batch:
            ended.attempt.finished = True
        self.ended.extend(batch)

    def take_ended(self, limit: int) -> list[Ended]:
        """Take up to `limit` decided turns to settle; they stay in hand."""
        batch: list[Ended] = []
        try:
            while len(batch) < limit:
                batch.append(self.ended.popleft())
        except IndexError:
            pass
        return batch

    def let_go(self, attempts: Iterable[Attempt]) -> None:
        """Remove attempts that are durably settled, or no longer ours."""
        for attempt in attempts:
            self.held.discard(attempt)
            self.apart.discard(attempt)
            if attempt.told:
                attempt.closed()

    def withdraw(self, attempt: Attempt) -> bool:
        """Take a message that has not begun out of the line; return whether it was still there."""
        try:
            self.waiting.remove(attempt)
        except ValueError:
            return False
        return True

    def ours(self) -> Sequence[Attempt]:
        """The attempts whose leases must be extended: in hand, and neither lost nor given up on."""
        return [attempt for attempt in self.held.copy() if attempt.error is None]
