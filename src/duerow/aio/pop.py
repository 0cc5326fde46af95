"""Pop messages from a queue: remove and return them at once, so that each is handled at most once."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from duerow.aio.handle import P
from duerow.aio.reserve import Reservations
from duerow.errors import CodecError, ConfigurationError
from duerow.message import Message, check_span
from duerow.plan import BEGIN, Plan
from duerow.queue import edits, mapping
from duerow.queue.poll import poll_interval


class Pops(Reservations[P]):
    """The part of a queue that hands out messages for good; see `Queue`."""

    async def pop(self, *, timeout: timedelta | None = None, within: Any = None) -> Message[P] | None:  # noqa: ASYNC109
        """Remove and return the next due message; None when nothing is due. It is handled at most once.

        Args:
            timeout: wait up to this long for a message to become due.
            within: the caller's open transaction. If it commits, the message is gone; if not, the message is still in
                the queue. So effects in the same database happen exactly once.
        """
        if timeout is not None and within is not None:
            raise ConfigurationError("pop(timeout=…) cannot wait inside your transaction; leave out timeout or within")
        wait = None if timeout is None else check_span("timeout", timeout)
        messages = await self.pop_many(1, within=within)
        if messages or wait is None:
            return messages[0] if messages else None
        return await self._pop_later(wait)

    async def pop_many(self, n: int, *, within: Any = None) -> list[Message[P]]:
        """Remove and return up to n due messages, oldest first. Each is handled at most once."""
        limit = edits.how_many(n)
        can = self._store.capabilities
        if within is None and not (can.together and can.passes_over):
            return await self._pop_by_lease(limit)
        await self._leave_own()

        def take(apart: bool) -> Plan[list[Message[P]]]:
            # Decode before the transaction ends, so that an unreadable message is not lost.
            yield BEGIN
            # Nothing can be given back in the caller's transaction, so take only known kinds there.
            kinds = self._only if within is None or self._takes_all else self._known
            records = yield from self._store.messages.pop(self.name, limit, self.keeping, kinds, apart)
            return [mapping.message(record, self._payloads) for record in records]

        try:
            messages = await self.database.claim(take, within, limit)
        except CodecError:
            if within is not None:
                raise
            reservations = await self.reserve_many(limit)  # buries unreadable messages, or leaves them
            await self.release_many(reservations)
            messages = await self.database.claim(take, None, limit)
        if within is None:
            self.database.metrics.claimed(self.name, messages)
            self.database.metrics.ended(self.name, len(messages))
        return messages

    async def _pop_by_lease(self, limit: int) -> list[Message[P]]:
        """Reserve and commit, so that an unreadable message is kept even if the store cannot undo a transaction."""
        reservations = await self.reserve_many(limit)
        refused = {one.receipt for one in await self.commit_many(reservations)}
        return [one.message for one in reservations if one.receipt not in refused]

    async def _pop_later(self, timeout: timedelta) -> Message[P] | None:  # noqa: ASYNC109
        deadline = time.monotonic() + timeout.total_seconds()
        poll = poll_interval(self._store.capabilities.wakes_consumers)
        listener = await self.database.connections.listen([self.name])
        try:
            while (left := deadline - time.monotonic()) > 0:
                sleep = min(timedelta(seconds=left), poll)
                due_in = await self.database.run(
                    lambda until=sleep: self._store.messages.next_due([self.name], until, self.only)  # type: ignore[misc]
                )
                if messages := await self.pop_many(1):
                    return messages[0]
                await listener.wait(max(0.0, min(sleep, sleep if due_in is None else due_in).total_seconds()))
            messages = await self.pop_many(1)
            return messages[0] if messages else None
        finally:
            await listener.close()
