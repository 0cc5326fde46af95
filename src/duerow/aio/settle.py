"""End the turns of a queue's messages, also with further pushes or by moving them to another queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Unpack

from msgspec import UNSET

from duerow import reservation as core
from duerow.aio.handle import P, QueueHandle
from duerow.aio.settlements import Settlements
from duerow.aio.turns import Turns, each_of
from duerow.errors import ConfigurationError
from duerow.message import Draft
from duerow.settlement import Commit, Move, MoveOptions
from duerow.store import Refused


class QueueSettlements(QueueHandle[P], Settlements[P]):
    """The part of a queue that ends the turns of its messages; see `Queue`."""

    @cached_property
    def _turns(self) -> Turns:
        return Turns(self)

    async def commit(
        self, reservation: core.BareReservation, *, payload: Any = UNSET, then: Sequence[Draft] = (), within: Any = None
    ) -> None:
        """End the turn: the message is done and leaves the queue.

        Args:
            reservation: the result of `reserve`.
            payload: what the queue's history keeps instead of the message's payload; an error if the queue has no
                history.
            then: messages to push in the same transaction; each names its `queue`.
            within: the caller's open transaction.

        Raises:
            LeaseLost: the message was already taken over, changed, removed or settled; nothing was changed.
            ConfigurationError: the reservation is from another queue or another database.
            StoreUnavailable: with the outcome "unknown", if the connection broke and the message is no longer ours.
        """
        if not isinstance(then, Iterable):
            raise ConfigurationError(f"then= takes a list of Drafts, not {type(then).__name__}")
        await self._turns.settle_one(reservation, Commit(payload, tuple(then)), within)

    async def move(
        self,
        reservation: core.BareReservation,
        to: str,
        payload: Any = UNSET,
        *,
        within: Any = None,
        **options: Unpack[MoveOptions],
    ) -> None:
        """End the turn by moving the message to another queue, in one write.

        Args:
            reservation: the result of `reserve`.
            to: the queue to move it to.
            payload: the new payload; if omitted: unchanged; None: JSON null.
            within: the caller's open transaction.
            options: by name, as in `Move`: patch, key, headers, due, delay, on_duplicate, group, priority.

        Raises:
            LeaseLost: as in `commit`.
            DuplicateKey: a live message in the target queue has the key and `on_duplicate` is "reject"; the lease
                continues.
        """
        await self._turns.settle_one(reservation, Move(to, payload, **options), within)

    async def move_many(
        self,
        reservations: Iterable[core.BareReservation],
        to: str,
        payload: Any = UNSET,
        *,
        within: Any = None,
        **options: Unpack[MoveOptions],
    ) -> list[Refused]:
        """Like `move`, but in one statement; return those that were refused, each with its error."""
        move = Move(to, payload, **options)
        return await self._turns.settle([(reservation, move) for reservation in each_of(reservations)], within)
