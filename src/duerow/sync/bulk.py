# Generated from ../aio/bulk.py by tools/generate_sync.py; edit that file instead.
"""Work on whole batches, for engines such as Spark: reserve without reading, read in ranges, stage, publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from duerow.errors import StoreUnavailable
from duerow.message import OnDuplicate, check_on_duplicate
from duerow.queue import edits
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
from duerow.store.consumer_id import new_claim
from duerow.sync.executor import Executor
from duerow.sync.reserve import Reservations

PIECE: Final = 5_000
"""How many messages one transaction reserves, so that a large claim does not hold its locks for long."""


class QueueBulk:
    """`Queue.bulk`: whole batches of a queue's messages, for engines.

    Args:
        queue: the queue of the messages.
    """

    def __init__(self, queue: Reservations[Any]) -> None:
        self._queue, self._database = queue, queue.database

    def lend(self, n: int, *, lease: timedelta | None = None, consumer: str | None = None) -> Lease:
        """Reserve up to n due messages until now + lease, like `reserve_many`, but without reading them.

        Many tasks can then read them in parallel with `leased_range`. It reserves in pieces of 5,000, one transaction
        per piece; if a later one fails, the messages reserved so far are given back.

        Args:
            n: the maximum number to reserve.
            lease: how long; default: the queue's lease.
            consumer: the consumer that takes them, a name unique to each call; default: a new claim of this process.
        """
        limit, span = edits.how_many(n), self._queue._lease(lease)
        claim = consumer or new_claim()
        receipts: list[Receipt] = []
        groups: dict[int, str] = {}
        buried: list[GivenUp] = []
        while len(receipts) < limit:
            wanted = min(PIECE, limit - len(receipts))
            try:
                piece = self._lend_piece(wanted, span, claim)
            except BaseException as error:
                self._give_back_for(error, Lease(receipts, groups, buried))
                raise
            receipts += piece.receipts
            groups |= piece.groups
            buried += piece.buried
            if len(piece.receipts) < wanted:
                break
        receipts.sort(key=lambda receipt: receipt.id)
        return Lease(receipts, groups, buried)

    def leased_range(self, consumer: str, first: int, last: int, limit: int = PIECE) -> list[Record]:
        """Read at most `limit` messages with ids from `first` to `last` that a claim still holds, in order of id."""
        store = self._database.store
        return self._database.run(
            lambda: store.bulk.leased_range(self._queue.name, consumer, first, last, limit), None, limit
        )

    def message_headers(self, receipts: Sequence[Receipt]) -> list[MessageHeader]:
        """Read the reserved messages that are still held, without their payloads, in any order."""
        store = self._database.store
        return self._database.run(lambda: store.bulk.message_headers(self._queue.name, receipts), None, len(receipts))

    def end_turns(self, turns: list[Turn]) -> list[Refused]:
        """End turns that are already encoded, moved or done, in one transaction; return those that were refused.

        Raises:
            StoreUnavailable: as in `settle`.
        """
        refused = self._queue._turns.writer.write(turns, None)
        lost = {one.receipt for one in refused}
        ended = [turn for turn in turns if turn.receipt not in lost] if lost else turns
        moved = sum(isinstance(turn.end, Moved) for turn in ended)
        self._database.metrics.ended(self._queue.name, len(ended), moved=moved)
        return refused

    def give_back(self, leased: Lease) -> list[Refused]:
        """Give back reserved messages, due as before, with no attempt counted; return those that are no longer held."""
        turns = [Turn(receipt, Released(None), self._group(leased, receipt.id)) for receipt in leased.receipts]
        return self._queue._turns.writer.write(turns, None)

    def _lend_piece(self, wanted: int, lease: timedelta, claim: str) -> Lease:
        queue = self._queue
        queue._leave_own()

        def lend(apart: bool) -> Any:
            terms = (queue.retry.limit, claim, queue.dead_letter, queue.keeping, queue._only, apart)
            return self._database.store.bulk.lend(self._queue.name, wanted, lease, *terms)

        piece: Lease = self._database.claim(lend, None, wanted)
        self._queue._given_up(piece.buried)
        return piece

    def _give_back_for(self, error: BaseException, leased: Lease) -> None:
        """Give back messages reserved before an error; if that fails too, they are due when their leases end."""
        if not leased.receipts:
            return
        try:
            self.give_back(leased)
        except StoreUnavailable as gone:
            error.add_note(
                f"{len(leased.receipts)} messages of {self._queue.name!r} stay leased until their lease ends: {gone}"
            )

    def _group(self, leased: Lease, id: int) -> tuple[str, str] | None:
        group = leased.groups.get(id)
        return None if group is None else (self._queue.name, group)


class DatabaseBulk:
    """`Database.bulk`: batches that are staged and become visible all at once; for engines.

    Args:
        database: the database that holds them.
    """

    def __init__(self, database: Executor) -> None:
        self._database = database

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> None:
        """Store entries that stay invisible until `publish`; another call with the same batch and part adds more.

        They are kept for a day, and may be lost if the server crashes; `publish` detects that.

        Args:
            batch: the name of the batch; globally unique.
            part: the name of the stager: one attempt at a task, so that the entries of a failed attempt can be left
                out.
            entries: encoded messages.
        """
        self._database.run(lambda: self._database.store.bulk.stage(batch, part, entries), None, len(entries))

    def publish(
        self,
        batch: str,
        parts: Mapping[str, int],
        turns: Sequence[Turn] = (),
        *,
        on_duplicate: OnDuplicate = "ignore",
        once: str | None = None,
        keep: Retention | None = None,
    ) -> Published:
        """End turns, push the staged entries of some parts of a batch, and discard the rest, all in one transaction.

        Args:
            batch: the name of the batch.
            parts: the parts to push, in this order, each with the number of entries that it staged.
            turns: the turns to end first.
            on_duplicate: as in `Queue.push`.
            once: a name that is recorded in the same transaction for 30 days; if it is already recorded, nothing
                happens. With a name, simply call publish again if the answer was lost.
            keep: what to keep about the turns; see `Queue.keeping`.

        Raises:
            BatchRefused: a turn was refused; nothing happened.
            StagedLost: a part does not have as many entries as it staged; nothing happened.
            QueueDraining: a queue accepts no new messages; nothing happened.
            DuplicateKey: a key is taken and `on_duplicate` is "reject"; nothing happened.
        """
        mode = check_on_duplicate(on_duplicate)
        return self._database.run(
            lambda: self._database.store.bulk.publish(batch, parts, turns, mode, once, keep), None, len(turns)
        )

    def discard(self, batch: str) -> None:
        """Discard the staged entries of a batch."""
        self._database.run(lambda: self._database.store.bulk.discard(batch))
