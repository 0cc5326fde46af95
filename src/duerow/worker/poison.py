"""Messages that were in hand when their worker died: one of them may have killed it, and would kill the next worker.

Nobody knows which one. So they are handled with fewer and fewer others, and finally alone: harmless messages get
through, and the one that kills is found.

The fetcher carries out the plan (see `duerow.plan`), blocking or awaited.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from time import monotonic
from typing import Final

from msgspec.structs import replace

from duerow.message import Message
from duerow.plan import Plan
from duerow.reservation import BareReservation
from duerow.settlement import Release
from duerow.worker.attempt import Attempt
from duerow.worker.run import Run
from duerow.worker.settler import RoomWanted, Settle
from duerow.worker.supervisor import TurnsEnded

_MESSAGE, _ATTEMPTS, _LAST_ERROR = attrgetter("reservation.message"), attrgetter("attempts"), attrgetter("last_error")

APART: Final = 16
"""The factor by which a message whose consumer died starts with fewer others at each attempt."""

WORKER_DIED: Final = frozenset({"LeaseEnded"})
BATCH_DIED: Final = frozenset({"LeaseEnded", "HandlerDied"})
"""The types of `last_error` of messages in hand when a worker died, or, for a batch, when its process died."""


def begin_with(
    reservations: Sequence[BareReservation], chunk: int, limit: int | None
) -> tuple[Sequence[BareReservation], Sequence[BareReservation]]:
    """Return which messages of a claim to start, and which to give back.

    Args:
        reservations: what was claimed, from one queue.
        chunk: how many start together if none is suspect.
        limit: how many attempts a message has in all.
    """
    suspects = [one for one in reservations if _consumer_died(one.message, WORKER_DIED)]
    if not suspects:
        return reservations, ()
    begun = suspects[: _together([one.message for one in suspects], chunk, limit)]
    ids = {one.message.id for one in begun}
    return begun, [one for one in reservations if one.message.id not in ids]


def _together(suspects: Sequence[Message], chunk: int, limit: int | None) -> int:
    """Return how many of them to start: fewer with each attempt, and one at the last attempt."""
    attempt = max(one.attempts for one in suspects)
    last = limit is not None and attempt >= limit
    return 1 if last else max(1, chunk // APART ** (attempt - 1))


def _consumer_died(message: Message, signs: frozenset[str]) -> bool:
    return message.last_error is not None and message.last_error.type in signs


class Isolation:
    """Prevents messages of a run from being given up for deaths that they did not cause.

    A message that was in hand at a death waits until nothing else is in hand, and nothing else starts until it has
    ended. A message that is claimed for its last attempt starts at once, or goes back: its worker may die before it
    starts.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._in_flight = run, run.in_flight
        self._chunk = run.options.concurrency * run.width
        self._signs = BATCH_DIED if run.options.whole_batch else WORKER_DIED
        self._limits = {name: run.policy_of(name).limit for name in run.queues}
        self._least = min((limit for limit in self._limits.values() if limit is not None), default=None)

    def admit(self, attempts: Sequence[Attempt]) -> Plan[Sequence[Attempt]]:
        """Return which of the claimed messages to start now, after a wait if necessary; give back the rest."""
        # No function is called for each message of a claim: with quick handlers that would be noticeable.
        messages = list(map(_MESSAGE, attempts))
        if any(map(_LAST_ERROR, messages)):
            suspects = [one for one in attempts if _consumer_died(one.message, self._signs)]
            if suspects:
                self._in_flight.prefetch.careful = True  # there may be more: a larger claim would give back all but one
                return (yield from self._apart(self._first_of(suspects), attempts))
        most = max(map(_ATTEMPTS, messages), default=0)
        self._in_flight.prefetch.careful = (
            self._least is not None and most >= self._least and any(map(self._is_last, attempts))
        )
        if not self._in_flight.prefetch.careful:
            return attempts
        begun = attempts[: max(1, self._free())]
        yield from self._give_back(attempts[len(begun) :])
        return begun

    def _first_of(self, suspects: Sequence[Attempt]) -> Sequence[Attempt]:
        """Return those to handle together: from one queue, so that they can be one batch."""
        queue = suspects[0].message.queue
        messages = [one.message for one in suspects if one.message.queue == queue]
        ids = {message.id for message in messages[: _together(messages, self._chunk, self._limits[queue])]}
        return [one for one in suspects if one.message.queue == queue and one.message.id in ids]

    def _is_last(self, attempt: Attempt) -> bool:
        limit = self._limits[attempt.message.queue]
        return limit is not None and attempt.message.attempts >= limit

    def _free(self) -> int:
        """How many messages can start at once."""
        # Counted from the slots that may run, not from those that exist: the first claim comes before they do.
        busy = sum(slot.attempt is not None for slot in self._run.slots.copy())
        return self._in_flight.prefetch.at_once - busy * self._run.width - len(self._in_flight.waiting)

    def _apart(self, suspects: Sequence[Attempt], attempts: Sequence[Attempt]) -> Plan[Sequence[Attempt]]:
        """Give back everything else that has not begun, and wait until what has begun is settled."""
        in_flight, run = self._in_flight, self._run
        in_flight.apart.update(suspects)
        others = [one for one in attempts if one not in in_flight.apart]
        while (waiting := in_flight.next()) is not None:
            others.append(waiting)
        yield from self._give_back(others)
        run.journal.apart(suspects)
        until = monotonic() + run.options.lease.total_seconds()
        while not (in_flight.alone or run.over) and (left := until - monotonic()) > 0:
            yield RoomWanted(left)
        if run.over:
            in_flight.let_go(suspects)
            yield Settle([(one.reservation, Release()) for one in suspects])  # the settler may have stopped already
            return []
        for lost in [one for one in suspects if one.error is not None]:
            in_flight.let_go([lost])
            run.journal.lost(lost)
        ours = [one for one in suspects if one.error is None]
        if in_flight.alone and in_flight.prefetch.most:
            return ours
        yield from self._put_off(ours)
        return []

    def _put_off(self, suspects: Sequence[Attempt]) -> Plan[None]:
        """Put messages off because a handler outlasts a lease: this worker goes on, and another one may take them."""
        for one in suspects:
            reservation = one.reservation
            later = replace(reservation.message, due_at=reservation.until + self._run.options.lease)
            one.reservation = replace(reservation, message=later)
        yield from self._give_back(suspects)

    def _give_back(self, attempts: Sequence[Attempt]) -> Plan[None]:
        for one in attempts:
            self._in_flight.end(one, Release())
        if attempts:
            yield TurnsEnded()
