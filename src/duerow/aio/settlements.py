"""End the turns of reserved messages: the verbs that a queue of messages and a queue of rows share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Generic

from duerow import reservation as core
from duerow.aio.handle import P
from duerow.aio.reservation import Reservation
from duerow.aio.turns import Turns, each_of
from duerow.message import Failure
from duerow.settlement import DONE, Bury, Commit, Release, Rollback, Settlement, decide
from duerow.store import Refused


class Settlements(ABC, Generic[P]):
    """The part of a queue that ends turns; see `Queue` and `EntityQueue`."""

    @property
    @abstractmethod
    def _turns(self) -> Turns:
        """The turns of its messages."""

    async def commit(self, reservation: core.BareReservation, *, within: Any = None) -> None:
        """End the turn: the message is done and leaves the queue; a row stays, and `on_done` is applied to it.

        Args:
            reservation: the result of `reserve`.
            within: the caller's open transaction.

        Raises:
            LeaseLost: the message was already taken over, changed, removed or settled; nothing was changed.
            ConfigurationError: the reservation is from another queue or another database.
            StoreUnavailable: with outcome "unknown", if the connection broke and the message is no longer ours.
        """
        await self._turns.settle_one(reservation, Commit(), within)

    async def rollback(
        self,
        reservation: core.BareReservation,
        *,
        delay: timedelta | None = None,
        error: BaseException | Failure | str | None = None,
        within: Any = None,
    ) -> None:
        """End the turn as failed: the message is due again after a delay, with the error recorded.

        Args:
            reservation: the result of `reserve`.
            delay: how long until it is due; None: the queue's policy decides, and buries it after its last attempt.
            error: why it failed.
            within: the caller's open transaction.

        Raises:
            LeaseLost: as in `commit`.
        """
        turns = self._turns
        turns.check(reservation)
        await turns.settle_one(reservation, decide(reservation.message, Rollback(delay, error), turns.retry), within)

    async def bury(
        self, reservation: core.BareReservation, reason: str | Failure | BaseException, *, within: Any = None
    ) -> None:
        """End the turn: the message is dead and kept for inspection, with the reason. LeaseLost as in `commit`.

        To push messages in the same transaction, settle it with `Bury(reason, then=…)`.
        """
        await self._turns.settle_one(reservation, Bury(reason), within)

    async def release(self, reservation: core.BareReservation, *, within: Any = None) -> None:
        """Give back a message that was not started; its due time, its place and its number of attempts are restored.

        Raises:
            LeaseLost: as in `commit`.
        """
        await self._turns.settle_one(reservation, Release(), within)

    async def extend(
        self, reservation: core.BareReservation[P], lease: timedelta | None = None, *, within: Any = None
    ) -> Reservation[P]:
        """Extend the lease until now + lease; return the reservation with its new end. LeaseLost as in `commit`."""
        return await self._turns.extend_one(reservation, lease, within)

    async def commit_many(self, reservations: Iterable[core.BareReservation], *, within: Any = None) -> list[Refused]:
        """Like `commit`, but in one statement; return those that were refused, each with its error."""
        return await self._turns.settle([(reservation, DONE) for reservation in each_of(reservations)], within)

    async def rollback_many(
        self,
        reservations: Iterable[core.BareReservation],
        *,
        delay: timedelta | None = None,
        error: BaseException | Failure | str | None = None,
        within: Any = None,
    ) -> list[Refused]:
        """Like `rollback`, but in one statement; return those that were refused, each with its error."""
        turns, wish = self._turns, Rollback(delay, error)
        pairs = [(one, decide(one.message, wish, turns.retry)) for one in turns.checked(reservations)]
        return await turns.settle(pairs, within)

    async def bury_many(
        self, reservations: Iterable[core.BareReservation], reason: str | Failure | BaseException, *, within: Any = None
    ) -> list[Refused]:
        """Like `bury`, but in one statement; return those that were refused, each with its error."""
        return await self._turns.settle([(reservation, Bury(reason)) for reservation in each_of(reservations)], within)

    async def release_many(self, reservations: Iterable[core.BareReservation], *, within: Any = None) -> list[Refused]:
        """Like `release`, but in one statement; return those that were refused, each with its error."""
        return await self._turns.settle([(reservation, Release()) for reservation in each_of(reservations)], within)

    async def extend_many(
        self, reservations: Iterable[core.BareReservation], lease: timedelta | None = None, *, within: Any = None
    ) -> list[Refused]:
        """Extend the leases until now + lease; return those that were refused, each with its error."""
        return await self._turns.extend(reservations, lease, within)

    async def settle(
        self, pairs: Iterable[tuple[core.BareReservation, Settlement]], *, within: Any = None
    ) -> list[Refused]:
        """End many turns, each in its own way, in one transaction if the store has transactions.

        Returns those that were refused, each with its error: LeaseLost, the DuplicateKey of a move, or the reason why
        a settlement cannot be carried out. The others are settled.

        Raises:
            ConfigurationError: a reservation is from another queue or another database; nothing was settled.
            StoreUnavailable: with outcome "unknown", if the connection broke and a message is no longer ours.
        """
        return await self._turns.settle(pairs, within)
