"""A batch on the driver: receipts and ranges of ids, never payloads."""

from __future__ import annotations

import logging
import threading
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

from duerow.errors import StoreUnavailable
from duerow.reservation import Receipt
from duerow.store import Lease
from duerow.sync.executor import Executor
from duerow.sync.queue import Queue
from duerow.worker.outage import Backoff

LOG: Final = logging.getLogger("duerow.spark")

PIECE: Final = 5_000
"""How many leases are extended, or turns ended, in one transaction."""

Range = tuple[int, int]
"""The first and last id of a part of a batch."""


@dataclass(frozen=True)
class Batch:
    """Messages that are leased to the driver.

    Attributes:
        claim: the claim id, by which the executors find the messages.
        leased: the receipts of the messages, in the order of ids.
    """

    claim: str
    leased: Lease

    def __len__(self) -> int:
        return len(self.leased.receipts)

    @property
    def ids(self) -> array[int]:
        """The ids of the messages, in order."""
        return array("q", [receipt.id for receipt in self.leased.receipts])

    def ranges(self, parts: int) -> list[Range]:
        """Split the batch into ranges of ids of about equal size; return at most `parts` ranges."""
        receipts = self.leased.receipts
        each = -(-len(receipts) // min(parts, len(receipts)))
        pieces = [receipts[start : start + each] for start in range(0, len(receipts), each)]
        return [(piece[0].id, piece[-1].id) for piece in pieces]

    def of(self, ids: Iterable[int]) -> Batch:
        """Return a batch of only these messages."""
        wanted = set(ids)
        receipts = [receipt for receipt in self.leased.receipts if receipt.id in wanted]
        return Batch(self.claim, Lease(receipts, self.leased.groups))

    def halves(self) -> list[Batch]:
        """Return the two halves of the batch, or only the batch itself if it has one message."""
        receipts, middle = self.leased.receipts, (len(self) + 1) // 2
        parts = [part for part in (receipts[:middle], receipts[middle:]) if part]
        return [Batch(self.claim, Lease(part, self.leased.groups)) for part in parts]

    def pieces(self) -> Iterable[list[Receipt]]:
        """Yield the receipts in chunks, one for each transaction."""
        receipts = self.leased.receipts
        for start in range(0, len(receipts), PIECE):
            yield receipts[start : start + PIECE]


def still_held(queue: Queue, batch: Batch, lease: timedelta) -> Batch:
    """Extend the leases of a batch; return the part of it that is still held."""
    held: set[int] = set()
    for piece in batch.pieces():
        held.update(receipt.id for receipt in _extended(queue, piece, lease))
    return batch if len(held) == len(batch) else batch.of(held)


def _extended(queue: Queue, piece: Sequence[Receipt], lease: timedelta) -> Iterable[Receipt]:
    database: Executor = queue.database
    return database.run(lambda: database.store.messages.extend(piece, lease), None, len(piece))


class Heartbeat:
    """Extends the leases of a batch from a separate thread, whenever two thirds of their length have passed.

    Normal batches are done long before that. Leases that were lost are not extended, and their turns will be refused.

    Args:
        queue: the queue of the messages.
        batch: the batch.
        lease: how long the messages were leased, and for how long leases are extended.
    """

    def __init__(self, queue: Queue, batch: Batch, lease: timedelta) -> None:
        self._queue, self._batch, self._lease = queue, batch, lease
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="duerow-heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        outage, patience = Backoff(), self._lease.total_seconds() * 2 / 3
        wait = patience
        while not self._over.wait(wait):
            try:
                held = still_held(self._queue, self._batch, self._lease)
            except StoreUnavailable as error:
                wait = outage.next()
                LOG.warning("cannot extend the leases of %s: %s; trying again", self._queue, error)
                continue
            outage.reset()
            wait = patience
            if len(held) < len(self._batch):
                LOG.debug("%d messages of %s are no longer ours", len(self._batch) - len(held), self._queue)
