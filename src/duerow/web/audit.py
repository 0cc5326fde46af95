"""The audit of a database, written and read asynchronously."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any, Final

from duerow.aio.database import Database
from duerow.aio.queue import Queue
from duerow.conditions.model import Condition
from duerow.queue.audit import AT_ONCE, AUDIT, AuditEntry, audit_entry, written
from duerow.queue.history import Event

PAGE: Final = 500
"""How many entries an export reads at once."""


class Audit:
    """Writes and reads the entries of a database.

    Args:
        database: the database.
        keep: how long entries are kept, unless the stored definition of the audit's queue says otherwise.
    """

    def __init__(self, database: Database, keep: timedelta) -> None:
        self._database, self._keep = database, keep
        self._queue: Queue[Any] | None = None

    async def record(
        self, *, by: str, means: str, address: str, action: str, queue: str | None, details: Mapping[str, Any]
    ) -> None:
        """Write an entry."""
        target = await self._opened()
        await target.push(written(by, means, address, action, queue, details))
        await target.pop_many(AT_ONCE)

    async def entries(
        self, where: str | Condition | None = None, *, limit: int = 100, after: Event[Any] | None = None
    ) -> list[AuditEntry]:
        """Return entries, latest first; conditions use `payload.by`, `payload.action`, `created_at`."""
        return [audit_entry(one) for one in await self.events(where, limit=limit, after=after)]

    async def events(
        self, where: str | Condition | None = None, *, limit: int = 100, after: Event[Any] | None = None
    ) -> list[Event[Any]]:
        """Return entries as the finished turns that store them, for paging."""
        return await (await self._opened()).history(where, limit=limit, after=after)

    async def all(self, where: str | Condition | None = None) -> AsyncIterator[AuditEntry]:
        """Yield all entries that match a condition, latest first."""
        last: Event[Any] | None = None
        while found := await self.events(where, limit=PAGE, after=last):
            for one in found:
                yield audit_entry(one)
            last = found[-1]

    async def _opened(self) -> Queue[Any]:
        if self._queue is None:
            queue = await self._database.as_defined(AUDIT)
            if queue.keeping is None or queue.keeping.history is None:
                queue = self._database.queue(AUDIT, history=self._keep)
            self._queue = queue
        return self._queue
