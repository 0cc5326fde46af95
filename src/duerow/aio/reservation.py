"""A reservation: one message, with the verbs that end its turn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Generic, Unpack

from msgspec import UNSET

from duerow import reservation as core
from duerow.aio.handle import P
from duerow.message import Draft, Failure
from duerow.settlement import MoveOptions


class Reservation(core.BareReservation[P], Generic[P], frozen=True, gc=False):
    """One message, leased to this consumer until a given time; settle it here or through its queue.

    Attributes:
        queue: the `Queue` that it was reserved from; the type is left open because the queue's module imports this one.
    """

    queue: Any

    async def commit(self, *, payload: Any = UNSET, then: Sequence[Draft] = (), within: Any = None) -> None:
        """Same as Queue.commit."""
        await self.queue.commit(self, payload=payload, then=then, within=within)

    async def rollback(
        self, *, delay: timedelta | None = None, error: BaseException | str | None = None, within: Any = None
    ) -> None:
        """Same as Queue.rollback."""
        await self.queue.rollback(self, delay=delay, error=error, within=within)

    async def bury(self, reason: str | Failure | BaseException, *, within: Any = None) -> None:
        """Same as Queue.bury."""
        await self.queue.bury(self, reason, within=within)

    async def release(self, *, within: Any = None) -> None:
        """Same as Queue.release."""
        await self.queue.release(self, within=within)

    async def extend(self, lease: timedelta | None = None, *, within: Any = None) -> Reservation[P]:
        """Same as Queue.extend."""
        extended: Reservation[P] = await self.queue.extend(self, lease, within=within)
        return extended

    async def move(self, to: str, payload: Any = UNSET, *, within: Any = None, **options: Unpack[MoveOptions]) -> None:
        """Same as Queue.move."""
        await self.queue.move(self, to, payload, within=within, **options)
