"""End the turns of a queue's messages: check the reservations, translate the settlements, write and count them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from duerow import reservation as core
from duerow.aio.handle import QueueHandle
from duerow.aio.offload import Writing
from duerow.aio.reservation import Reservation
from duerow.aio.turn_writer import TurnWriter
from duerow.errors import ConfigurationError, DuerowError, LeaseLost
from duerow.queue import edits, mapping
from duerow.reservation import Receipt
from duerow.retry import RetryPolicy
from duerow.settlement import DONE, Bury, Retry, Settlement, decide
from duerow.store import Refused, Turn

_PAIRS: Final = "settle takes pairs of a reservation and its settlement"


class Turns:
    """The turns of a queue's messages, and how they end.

    Args:
        queue: the queue of the messages.
    """

    def __init__(self, queue: QueueHandle[Any]) -> None:
        self._queue = queue
        self.writer = TurnWriter(queue)

    @property
    def retry(self) -> RetryPolicy:
        """The queue's delays between attempts, and how many attempts are allowed."""
        return self._queue.retry

    async def settle(
        self,
        pairs: Iterable[tuple[core.BareReservation, Settlement]],
        within: Any = None,
        write: Writing | None = None,
    ) -> list[Refused]:
        """End many turns; return those that were refused. See `Queue.settle`.

        Args:
            pairs: each reservation with its settlement.
            within: the caller's open transaction.
            write: writes the turns, unless there are none; default: `TurnWriter.write`.
        """
        queue = self._queue
        refused: list[Refused] = []
        turns: list[Turn] = []
        others: list[tuple[core.BareReservation, Settlement]] = []
        letters = queue._dead_letter_now()
        for pair in edits.each_of(pairs, _PAIRS):
            try:
                reservation, settlement = pair
            except (TypeError, ValueError) as error:
                raise ConfigurationError(f"{_PAIRS}, not {type(pair).__name__}") from error
            if type(reservation) is not Reservation or reservation.queue is not queue:
                self.check(reservation)
            if settlement is DONE:
                turns.append(mapping.done(reservation.message))
                continue
            others.append((reservation, settlement))
            try:
                turns.append(mapping.turn(reservation, settlement, letters, queue._payloads, queue._history_bytes))
            except DuerowError as error:
                refused.append(Refused(reservation.receipt, error))
        number = len(turns) + len(refused)
        if turns:
            refused += await (self.writer.write(turns, within) if write is None else write(turns))
        if within is None:
            queue.database.metrics.ended(queue.name, number, others, refused)
        return refused

    async def settle_one(self, reservation: core.BareReservation, settlement: Settlement, within: Any = None) -> None:
        """End one turn; raise the error if it is refused."""
        queue = self._queue
        self.check(reservation)
        turn = mapping.turn(reservation, settlement, queue._dead_letter_now(), queue._payloads, queue._history_bytes)
        refused = await self.writer.write([turn], within)
        if within is None and not refused:
            queue.database.metrics.ended(queue.name, 1, [(reservation, settlement)])
        if refused:
            raise error_of(refused[0], reservation)

    async def end_by(self, reservation: core.BareReservation, error: BaseException) -> bool:
        """End a turn by an exception raised in a block; return whether it was only raised to end the turn."""
        await self.settle_one(reservation, decide(reservation.message, error, self.retry))
        return isinstance(error, Retry | Bury)

    async def extend_one(
        self, reservation: core.BareReservation[Any], lease: timedelta | None, within: Any
    ) -> Reservation[Any]:
        """Extend a lease; return the reservation with its new end, or raise LeaseLost."""
        self.check(reservation)
        receipt = reservation.receipt
        ends = await self._extend([receipt], lease, within)
        if receipt not in ends:
            raise LeaseLost(receipt.id, reservation.until)
        return Reservation(reservation.message, ends[receipt], self._queue, sealed=reservation.sealed)

    async def extend(
        self, reservations: Iterable[core.BareReservation], lease: timedelta | None, within: Any
    ) -> list[Refused]:
        """Extend leases; return those that were refused."""
        untils = {reservation.receipt: reservation.until for reservation in self.checked(reservations)}
        ends = await self._extend(list(untils), lease, within)
        return [Refused(receipt, LeaseLost(receipt.id, untils[receipt])) for receipt in untils if receipt not in ends]

    async def _extend(
        self, receipts: list[Receipt], lease: timedelta | None, within: Any
    ) -> Mapping[Receipt, datetime]:
        """Return the new ends of the leases that still hold."""
        queue, span = self._queue, self._queue._lease(lease)
        if not receipts:
            return {}
        return await queue.database.run(lambda: queue._store.messages.extend(receipts, span), within)

    def check(self, reservation: object) -> None:
        """Raise ConfigurationError unless this is a reservation from this queue, made by any handle."""
        queue = self._queue
        if type(reservation) is not Reservation or reservation.queue is not queue:
            mapping.check_reserved(reservation, queue.name, queue.database.connections.place)

    def checked(self, reservations: Iterable[core.BareReservation]) -> Iterator[core.BareReservation]:
        """Yield each reservation after checking that it is from this queue."""
        for reservation in each_of(reservations):
            self.check(reservation)
            yield reservation


def each_of(reservations: Iterable[core.BareReservation]) -> Iterator[core.BareReservation]:
    """Yield each reservation; raise ConfigurationError if the argument contains none."""
    return edits.each_of(reservations, "settling several messages takes a list of reservations")


def error_of(refused: Refused, reservation: core.BareReservation) -> Exception:
    """Return the error of a refused turn, with the end of the lease if it is lost."""
    error = refused.error
    return LeaseLost(error.message_id, reservation.until) if isinstance(error, LeaseLost) else error
