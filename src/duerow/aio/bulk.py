"""Work on whole batches, for engines such as Spark: lend without reading, read in ranges, stage, publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import StoreUnavailable
from duerow.message import OnDuplicate, check_on_duplicate
from duerow.queue import edits
from duerow.queue.consumer_id import new_claim
from duerow.reservation import Receipt
from duerow.store import (
    Entry,
    GivenUp,
    Lease,
    MessageHeader,
    Moved,
    Published,
    Record,
    Refused,
    Released,
    Retention,
    Turn,
)

if TYPE_CHECKING:
    from duerow.aio.database import Database
    from duerow.aio.queue import Queue

PIECE: Final = 5_000
"""Messages that are lent in one transaction: a claim of many does not hold its locks for long."""


class QueueBulk:
    """`Queue.bulk`: whole batches of a queue's messages, for engines.

    Args:
        queue: whose messages they are.
    """

    def __init__(self, queue: Queue[Any]) -> None:
        self._queue, self._database = queue, queue.database

    async def lend(self, n: int, *, lease: timedelta | None = None, consumer: str | None = None) -> Lease:
        """Lend up to n due messages until now + lease, as `reserve_many` does, without reading them.

        What they are is read by many at the same time with `leased_range`. In pieces of 5,000, each a transaction; if a
        later one fails, what is lent already is given back.

        Args:
            n: how many at most.
            lease: how long; default: the queue's.
            consumer: who takes them, a name of its own for each call; default: a new claim of this process.
        """
        limit, span = edits.how_many(n), self._queue._lease(lease)
        claim = consumer or new_claim()
        receipts: list[Receipt] = []
        groups: dict[int, str] = {}
        buried: list[GivenUp] = []
        while len(receipts) < limit:
            wanted = min(PIECE, limit - len(receipts))
            try:
                piece = await self._lend_piece(wanted, span, claim)
            except BaseException as error:
                await self._give_back_for(error, Lease(receipts, groups, buried))
                raise
            receipts += piece.receipts
            groups |= piece.groups
            buried += piece.buried
            if len(piece.receipts) < wanted:
                break
        receipts.sort(key=lambda receipt: receipt.id)
        return Lease(receipts, groups, buried)

    async def leased_range(self, consumer: str, first: int, last: int, limit: int = PIECE) -> list[Record]:
        """Read the messages with ids from `first` to `last` that a claim still holds, by id, at most `limit`."""
        store = self._database.store
        return await self._database.run(
            lambda: store.leased_range(self._queue.name, consumer, first, last, limit), None, limit
        )

    async def message_headers(self, receipts: Sequence[Receipt]) -> list[MessageHeader]:
        """Read what was lent but for the payloads, of that which is still held; in any order."""
        store = self._database.store
        return await self._database.run(lambda: store.message_headers(self._queue.name, receipts), None, len(receipts))

    async def end_turns(self, turns: list[Turn]) -> list[Refused]:
        """End turns as encoded, moved on or done, in one transaction; return those that were refused.

        Raises:
            StoreUnavailable: as for `settle`.
        """
        refused = await self._queue._settle(turns, None)
        lost = {one.receipt for one in refused}
        ended = [turn for turn in turns if turn.receipt not in lost] if lost else turns
        moved = sum(isinstance(turn.end, Moved) for turn in ended)
        self._database.meter.ended(self._queue.name, len(ended), moved=moved)
        return refused

    async def give_back(self, lent: Lease) -> list[Refused]:
        """Give back what was lent: due as before, with no attempt counted; return those that were no longer held."""
        turns = [Turn(receipt, Released(None), self._group(lent, receipt.id)) for receipt in lent.receipts]
        return await self._queue._settle(turns, None)

    async def _lend_piece(self, wanted: int, lease: timedelta, claim: str) -> Lease:
        queue = self._queue

        def lend(apart: bool) -> Any:
            terms = (queue.retry.limit, claim, queue.dead_letter, queue.keeping, queue._only, apart)
            return self._database.store.lend(self._queue.name, wanted, lease, *terms)

        piece: Lease = await self._database.claim(lend, None, wanted)
        self._queue._given_up(piece.buried)
        return piece

    async def _give_back_for(self, error: BaseException, lent: Lease) -> None:
        """Give back what was lent before an error; if that cannot be either, it is due when its lease ends."""
        if not lent.receipts:
            return
        try:
            await self.give_back(lent)
        except StoreUnavailable as gone:
            error.add_note(
                f"{len(lent.receipts)} messages of {self._queue.name!r} stay lent until their lease ends: {gone}"
            )

    def _group(self, lent: Lease, id: int) -> tuple[str, str] | None:
        group = lent.groups.get(id)
        return None if group is None else (self._queue.name, group)


class DatabaseBulk:
    """`Database.bulk`: batches that are staged, and become visible at once; for engines.

    Args:
        database: where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> None:
        """Keep entries that nobody sees until `publish`; the same batch and part again adds to it.

        They are kept for a day, and may be lost when the server crashes; `publish` notices.

        Args:
            batch: names the batch; unique everywhere.
            part: names who stages: an attempt of a task, so that what a failed one staged is left out.
            entries: encoded messages.
        """
        await self._database.run(lambda: self._database.store.stage(batch, part, entries), None, len(entries))

    async def publish(
        self,
        batch: str,
        parts: Mapping[str, int],
        turns: Sequence[Turn] = (),
        *,
        on_duplicate: OnDuplicate = "ignore",
        once: str | None = None,
        keep: Retention | None = None,
    ) -> Published:
        """End turns, push what parts of a batch staged, and forget the rest of it: in one transaction.

        Args:
            batch: which batch.
            parts: of which parts, in which order, and how many entries each of them staged.
            turns: what ends before that.
            on_duplicate: as for `Queue.push`.
            once: a name that is noted in the same transaction for 30 days; if it is noted already nothing happens. With
                one, a publish whose answer was lost is simply called again.
            keep: what is kept of the turns; see `Queue.keeping`.

        Raises:
            BatchRefused: a turn was refused; nothing happened.
            StagedLost: a part has not as many entries as it staged; nothing happened.
            QueueDraining: a queue takes no new messages; nothing happened.
            DuplicateKey: with "reject"; nothing happened.
        """
        mode = check_on_duplicate(on_duplicate)
        published: Published = await self._database.run(
            lambda: self._database.store.publish(batch, parts, turns, mode, once, keep), None, len(turns)
        )
        return published

    async def discard(self, batch: str) -> None:
        """Forget what a batch staged."""
        await self._database.run(lambda: self._database.store.discard(batch))
