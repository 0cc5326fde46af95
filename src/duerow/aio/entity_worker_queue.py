"""An entity queue as a worker sees it: a queue of messages without payloads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

from duerow import reservation as core
from duerow.aio.database import Database
from duerow.aio.entity_rows import EntityRows
from duerow.aio.limits import read_limits, write_limits
from duerow.aio.offload import Writing
from duerow.aio.orm import Session, called
from duerow.aio.queue import Queue
from duerow.aio.sessions import session_within
from duerow.aio.turns import Turns, error_of
from duerow.errors import ConfigurationError
from duerow.queue.limits import NONE, RunLimits, checked
from duerow.retry import RetryFunction, RetryPolicy
from duerow.settlement import Commit, Left, Settlement
from duerow.store import Refused
from duerow.worker.budget import Rate


class EntityTurns(Turns):
    """The turns of rows, and how they end.

    Args:
        queue: the queue of their messages.
        rows: the rows.
    """

    def __init__(self, queue: EntityWorkerQueue, rows: EntityRows[Any]) -> None:
        super().__init__(queue)
        self._rows = rows

    async def settle(
        self,
        pairs: Iterable[tuple[core.BareReservation, Settlement]],
        within: Any = None,
        write: Writing | None = None,
    ) -> list[Refused]:
        """End turns, except those to be left alone; if `on_done` is a function, call it with each row that is done."""
        ours = [pair for pair in pairs if not isinstance(pair[1], Left)]
        function = self._rows.on_done
        done = [reservation for reservation, settlement in ours if isinstance(settlement, Commit)]
        if not callable(function) or not done:
            return await super().settle(ours, within, write) if ours else []
        settle = super().settle

        async def finish(session: Session) -> list[Refused]:
            refused = await settle(ours, session if within is None else within)
            await self._finish(function, done, refused, session)
            return refused

        if within is None:
            return await self._rows.in_transaction(finish)
        async with session_within(within) as session:
            return await finish(session)

    async def settle_one(self, reservation: core.BareReservation, settlement: Settlement, within: Any = None) -> None:
        """End one turn; raise the error if it is refused."""
        self.check(reservation)
        refused = await self.settle([(reservation, settlement)], within)
        if refused:
            raise error_of(refused[0], reservation)

    async def _finish(
        self, function: Any, done: Sequence[core.BareReservation], refused: Sequence[Refused], session: Session
    ) -> None:
        """Call the function with each row that is now done."""
        lost = {one.receipt for one in refused}
        for reservation in done:
            if reservation.receipt not in lost:
                entity = await self._rows.row(session, reservation.message.id, populate_existing=True)
                if entity is not None:
                    await called(function, entity, session)
        await session.flush()


class EntityWorkerQueue(Queue):
    """An entity queue as a worker sees it: a queue of messages without payloads.

    Args:
        rows: the rows of the entity queue.
        database: executes its plans.
        lease, retry: as in `Queue`.
        permits: the database in which its workers keep their permits, and operators their limits.
    """

    locked_while_handled = True

    def __init__(
        self,
        rows: EntityRows[Any],
        database: Database,
        lease: timedelta,
        retry: RetryPolicy | RetryFunction | None,
        permits: Database | None,
    ) -> None:
        super().__init__(database, rows.name, lease, retry)
        self._rows, self.permits = rows, permits

    def with_overrides(self, lease: timedelta | None, retry: RetryPolicy | RetryFunction | None) -> EntityWorkerQueue:
        """Return another handle with this lease and retry policy; None: unchanged."""
        return EntityWorkerQueue(
            self._rows,
            self.database,
            self.lease if lease is None else lease,
            self.retry if retry is None else retry,
            self.permits,
        )

    async def limits(self) -> RunLimits:
        """Same as Queue.limits; none without a duerow database to keep them in."""
        return NONE if self.permits is None else await read_limits(self.permits, [self.name])

    async def limit(
        self,
        *,
        concurrency: int | None = None,
        cluster_concurrency: int | None = None,
        rate: Rate | None = None,
    ) -> RunLimits:
        """Same as Queue.limit."""
        wanted = checked(concurrency, cluster_concurrency, rate)
        if self.permits is None:
            raise ConfigurationError(
                f"{self.name} has no table for limits; give it duerow's own: "
                "EntityQueue(…, permits=duerow.connect(engine, migrate=True))"
            )
        await write_limits(self.permits, self.name, wanted)
        return wanted

    @cached_property
    def _turns(self) -> EntityTurns:
        return EntityTurns(self, self._rows)
