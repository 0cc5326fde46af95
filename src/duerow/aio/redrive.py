"""Bring back the dead letters of a queue."""

from __future__ import annotations

import asyncio
from functools import partial

from duerow.aio.handle import P, QueueHandle
from duerow.conditions.model import Condition
from duerow.errors import NotSupported
from duerow.message import OnDuplicate, check_on_duplicate
from duerow.payload import dead_letter_headers
from duerow.payload.encoding import AS_STORED
from duerow.phrases import Argument
from duerow.queue import edits, mapping
from duerow.queue.redrive import BATCH, Away, Dead, Place, Redriven, Stayed
from duerow.queue.throttle import Throttle
from duerow.store import Query
from duerow.where import as_condition


class Redrives(QueueHandle[P]):
    """The part of a queue for its dead letters; see `Queue`."""

    async def redrive(
        self,
        limit: int | None = None,
        *,
        where: str | Condition | None = None,
        rate: float | None = None,
        on_duplicate: OnDuplicate = "reject",
        dry_run: bool = False,
    ) -> Redriven:
        """Bring dead letters back, each with its key, as if newly pushed: 0 attempts, due now.

        On a queue, this redrives its own dead letters: those due in its dead-letter queue, and those that stayed here
        with the status dead. On a dead-letter queue, it returns each due message to the queue that it came from. It
        works in batches, one transaction per batch.

        Args:
            limit: the maximum number to redrive; None: all that exist now.
            where: only dead letters that meet this condition, in the queue where they are now:
                `headers."dead-letter-reason" like 'TimeoutError%'`.
            rate: the maximum number per second; None: as fast as possible.
            on_duplicate: what to do if a live message already has the key. "reject" leaves the dead letter where it is.
                The other modes work as in `move`: "ignore" keeps the live message as it is, "replace" gives it the dead
                letter's content, "earliest" makes it due now; in all three cases the dead letter is gone, and counts as
                redriven.
            dry_run: change nothing, only count.

        Raises:
            ConfigurationError: `limit` is not a positive integer, or `rate` not a positive number.
            InvalidCondition: the condition cannot be parsed.
            NotSupported: `on_duplicate` would change two messages together, which the store cannot do.
        """
        most = None if limit is None else edits.how_many(limit)
        throttle = Throttle(rate, BATCH)
        mode = check_on_duplicate(on_duplicate)
        condition = None if where is None else as_condition(where)
        self._check_redrive(mode)
        done, given = Redriven(), frozenset[Place]()
        for dead in await self._dead_ones(condition, mode):
            previous: edits.EditBatch | None = None
            while most is None or done.count < most:
                many = throttle.batch(most, done.count)
                batch = await self.database.run(partial(dead.batch, self._store, many, previous, given, dry_run))
                done, given, previous = done + batch.done, batch.given, batch.place
                if previous.last is None:
                    break
                if not dry_run:
                    await asyncio.sleep(throttle.pause(batch.done.count))
        return done

    def _check_redrive(self, mode: OnDuplicate) -> None:
        if mode in ("replace", "earliest") and not self._store.capabilities.transactions:
            raise NotSupported(
                f"a redrive with {mode!r} changes two messages together, which this store cannot do; pass ",
                Argument("on_duplicate", "reject"),
                " or 'ignore'",
            )

    async def _dead_ones(self, where: Condition | None, mode: OnDuplicate) -> list[Dead]:
        """Return the places where a redrive of this queue looks for dead letters."""
        stayed = Stayed(self.name, where, mode, self.keeping, self.indexed)
        if self.dead_letter is not None:
            return [Away(self.dead_letter, self.name, where, mode, None), stayed]
        if await self._takes_dead_letters():
            return [Away(self.name, None, where, mode, self.keeping), stayed]
        return [stayed]

    async def _takes_dead_letters(self) -> bool:
        """Return whether this is a dead-letter queue, by its declarations or else by its first messages.

        In any other queue, messages are left alone and are not searched for dead letters.
        """
        if await self.database.is_dead_letter_queue(self.name):
            return True
        first = await self.database.run(lambda: self._store.messages.find(Query(self.name, limit=BATCH)))
        sources = (mapping.readable(record, AS_STORED).headers.get(dead_letter_headers.FROM) for record in first)
        return any(source not in (None, self.name) for source in sources)
