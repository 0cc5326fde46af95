"""Find and count the rows of an entity queue, and change when they are due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, overload

from msgspec import UNSET
from sqlalchemy import ColumnElement

from duerow.aio.entity_rows import E, EntityRows
from duerow.aio.orm import Session
from duerow.aio.sessions import session_within
from duerow.errors import InvalidMessage, MessageLeased
from duerow.message import Status
from duerow.queue.counts import CAP, Count, Counts, counted, counted_by
from duerow.queue.edits import Changed, how_many
from duerow.queue.mapping import readable
from duerow.queue.stats import Reason, reasons_of_row
from duerow.stores.sql.entities.keys import parts_of
from duerow.stores.sql.entities.queries import Standing


class EntityEdits(EntityRows[E]):
    """The part of an entity queue that reads and changes rows; it hands none out."""

    async def find(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        order_by: Any = None,
        limit: int = 100,
        after: Any = None,
    ) -> list[E]:
        """Return rows that meet all conditions, one page at a time.

        Args:
            where: conditions on columns of the model, as in `SmsMessage.sender == "me"`.
            status: only rows with this status.
            order_by: a column, or a list of them; default: the primary key.
            limit: the maximum number of rows to return.
            after: the id of the last row of the previous page, if ordered by primary key.

        Raises:
            ConfigurationError: there is no such status, or `after` is given with another order.
        """
        statement = self._queries.find(where, status, order_by, how_many(limit), after)
        return await self._read(lambda session: list(session.scalars(statement).unique()))

    @overload
    async def count(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        by: None = None,
        exact: bool = False,
    ) -> Count: ...
    @overload
    async def count(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        by: Any,
        exact: bool = False,
    ) -> Counts: ...
    async def count(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        by: Any = None,
        exact: bool = False,
    ) -> Count | Counts:
        """Count rows, in total or by the values of a column, as in `by=SmsMessage.sender`.

        Args:
            where: only rows that meet these conditions on columns of the model.
            status: only rows with this status.
            by: count for each value of this column.
            exact: count all; by default, counting stops at 10,000, and the result's `capped` tells whether it did.

        Raises:
            ConfigurationError: there is no such status.
        """
        limit = None if exact else CAP
        statement = self._queries.count(where, status, by, limit)
        tally = await self._read(lambda session: [(value, number) for value, number in session.execute(statement)])
        return counted(tally, limit) if by is None else counted_by(tally, limit)

    async def stats(self, *, exact: bool = False) -> Standing:
        """Return the state of the queue: how many rows are ready, delayed, leased and dead, and the next due time.

        Args:
            exact: count all; default: count up to 10,000 of each.
        """
        cap = None if exact else CAP
        row = await self._read(lambda session: session.execute(self._queries.standing(cap)).one())
        return self._queries.stands(row, cap)

    async def why(self, id: Any) -> list[Reason]:
        """Return why a row is not running, as codes and sentences: ready, not-due, stopped, leased, limit, done, dead.

        Raises:
            InvalidMessage: there is no such row, or `id` is not a primary key of its table.
        """
        parts_of(self.table.keys, id)
        database, wanted = self._database, id
        seen = await database.run(lambda: database.store.operations.inspect(self.name, wanted, None))
        if seen is None:
            raise InvalidMessage(f"{self.name} has no row with id {id}; it may have been deleted")
        return reasons_of_row(seen, readable(seen.record), self.retry.limit)

    async def reschedule(
        self,
        *where: ColumnElement[bool],
        id: Any = None,
        due: datetime | None = UNSET,  # type: ignore[assignment]
        delay: timedelta | None = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Change the due time of rows, or stop them; a dead row runs once more and keeps its attempts.

        This is one UPDATE in one transaction. Rows that are done stay as they are; use the state's `schedule()` for
        them.

        Args:
            where: all rows that meet these conditions on columns of the model.
            id: or the row with this primary key.
            due: when they are due; None stops them until they are scheduled again.
            delay: how long from now; `timedelta(0)` is now.
            dry_run: change nothing, only return how many would change.
            even_if_leased: include rows that a consumer is working on: its settlement will be refused.
            within: your open session or SQLAlchemy connection.

        Raises:
            MessageLeased: a consumer is working on the row given by id; conditions skip such rows.
            ConfigurationError: not exactly one of due and delay was given, or no rows are given.
        """
        meant, values = self._queries.meant(where, id, due is None), self._queries.rescheduled(due, delay)
        return await self._change(meant, id, values, dry_run, even_if_leased, within)

    async def requeue(
        self,
        *where: ColumnElement[bool],
        id: Any = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Reset rows: due now, status `new`, 0 attempts, no error. Otherwise like `reschedule`."""
        meant, values = self._queries.meant(where, id, False), self._queries.requeued()
        return await self._change(meant, id, values, dry_run, even_if_leased, within)

    async def _change(
        self,
        meant: Sequence[Any],
        id: Any,
        values: Mapping[str, Any],
        dry_run: bool,
        even_if_leased: bool,
        within: Any,
    ) -> Changed:
        async def change(session: Session) -> Changed:
            free, leased, holder = (await session.execute(self._queries.numbers(meant))).one()
            if even_if_leased:
                free, leased = free + leased, 0
            if id is not None and leased:
                raise MessageLeased(id, holder)
            if dry_run:
                return Changed(free, leased)
            changed: Any = await session.execute(self._queries.change(meant, values, even_if_leased))
            return Changed(changed.rowcount, leased)

        if within is None:
            return await self.in_transaction(change)
        async with session_within(within) as session:
            return await change(session)
