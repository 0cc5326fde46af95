"""Queues as the source and the sink of a stream.

**Source.** A batch is a claim: messages that are lent to the stream under one claim id. The offset says that id and the
ranges of their ids, so that a batch is found again by what Spark has logged: after a restart it holds what is still
lent on that claim. The source ends no turn: Spark tells it late, and of the last batch never, that a batch is over. The
sink does (`duerow.spark.settle`). What reaches no sink is due again when its lease ends. A checkpoint that is lost
loses nothing: old claims end, new ones are made.

**Sink.** Without ids and tokens rows are new messages: tasks stage them, and the driver publishes each batch in one
transaction, which also notes the query and the batch, so a batch that is repeated changes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql.datasource import (
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from duerow.conditions.model import Compare
from duerow.errors import ConfigurationError, DuerowError, StoreUnavailable
from duerow.queue.consumer_id import new_claim
from duerow.reservation import Receipt
from duerow.spark.columns import MESSAGE, Shape, check_schema, needed
from duerow.spark.options import SourceOptions
from duerow.spark.pages import Pages, pages_of
from duerow.spark.settle import StreamSettling, asks_to_settle, ending
from duerow.spark.sink import KNOWN as PUSH_KNOWN
from duerow.spark.sink import Pushing, StagedPart, Unfit, check_fit, publish, pushing
from duerow.store import Scan
from duerow.sync.database import Database

if TYPE_CHECKING:
    import pyarrow as pa

LOG: Final = logging.getLogger("duerow.spark")

KNOWN: Final = frozenset({"queue", "batch", "lease", "partitions", "columns", "encrypted"})

BATCH: Final = 50_000
"""Messages of a batch at the most, unless the option says otherwise."""

LEASE: Final = timedelta(minutes=10)
"""How long a batch is lent; while the query runs it is extended."""

PARTITIONS: Final = 4
"""Tasks that read a batch, unless the option says otherwise."""

FEWEST: Final = 1_000
"""Messages for which a further task is worth its while."""

PAUSE: Final = 0.2
"""Seconds to wait when nothing is due: Spark asks again at once."""

PIECE: Final = 5_000
"""Messages whose leases are extended in one transaction."""

NOTHING: Final[dict[str, Any]] = {"claim": "", "ranges": [], "count": 0}
"""The offset before the first batch."""


@dataclass(frozen=True)
class StreamPart(InputPartition):
    """What a task reads of a batch: a range of ids.

    Attributes:
        pages: what is still lent on the batch's claim.
        first, last: the first and the last id.
    """

    pages: Pages
    first: int
    last: int


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lends the messages of a queue to a stream, batch by batch.

    Args:
        options: as Spark has them.
        schema: the columns that Spark wants.

    Raises:
        ConfigurationError: an option cannot be what it is, or none says which queue.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        asked = SourceOptions(options, KNOWN)
        queue = asked.queue()
        if queue is None:
            raise ConfigurationError("a stream reads one queue: say which by the option queue")
        check_schema(MESSAGE, schema)
        self._queue, self._schema, self._reach = queue, schema, asked.reach()
        self._batch = asked.number("batch") or BATCH
        self._partitions = asked.number("partitions") or PARTITIONS
        self._lease = asked.span("lease", LEASE)
        self._as_kept = asked.one_of("encrypted", ("open", "keep")) == "keep"
        self._left: int | None = None
        self._heart: Heart | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Travel to the tasks without what only the driver has."""
        return {**vars(self), "_heart": None}

    # What the driver asks.

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset before the first batch."""
        return dict(NOTHING)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return how many messages a batch has at the most."""
        return ReadMaxRows(self._batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """Note how many are due now: what comes later is not waited for."""
        self._left = self._ready()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Lend the next batch; the same offset again if nothing is due."""
        self._beat.stop()  # the batch before is over, and its messages are settled
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._ready()
        most = most if self._left is None else min(most, self._left)
        queue = self._reach.database.as_defined(self._queue)
        claim = new_claim("spark-stream")
        lent = queue.bulk.lend(most, lease=self._lease, consumer=claim) if most else None
        if lent is None or not lent.receipts:
            if self._left is None:
                time.sleep(PAUSE)
            return start
        if self._left is not None:
            self._left -= len(lent.receipts)
        self._beat.begin(claim, lent.receipts)
        ids = [receipt.id for receipt in lent.receipts]
        return {"claim": claim, "ranges": ranges(ids, self._partitions), "count": len(ids)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the ranges of a batch, also of one that was lent before a restart."""
        claim: str = end["claim"]
        if end == start or not claim:
            return []
        if not self._beat.is_of(claim):
            self._beat.begin(claim, self._found_again(claim, end["ranges"]))
        pages = self._pages(claim, needed(self._schema.names, False))
        return [StreamPart(pages, first, last) for first, last in end["ranges"]]

    def commit(self, end: dict[str, Any]) -> None:
        """Stop to extend the leases of a batch that is over; what of it was not settled is due when they end."""
        if self._beat.is_of(end["claim"]):
            self._beat.stop()

    def stop(self) -> None:
        """Stop to extend leases. What is lent stays so, for the query to be started again before they end."""
        self._beat.stop()

    # What the tasks do.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a range of a batch: what is still lent on its claim."""
        part, shape = cast(StreamPart, partition), Shape(self._schema, self._reach.sealing, self._as_kept)
        for page in part.pages.read([(part.first, part.last)]):
            yield from shape.batches(page)

    def _pages(self, claim: str, names: Sequence[str]) -> Pages:
        query = Scan(queues=(self._queue,), where=Compare(("leased_by",), "=", claim))
        return pages_of(self._reach, self._reach.database, query, names)

    def _found_again(self, claim: str, found: Sequence[Sequence[int]]) -> list[Receipt]:
        """Return the receipts of what is still lent on a claim."""
        receipts: list[Receipt] = []
        pages = self._pages(claim, ("id", "token"))
        for page in pages.read([(first, last) for first, last in found]):
            receipts += map(Receipt, page.column("id").to_pylist(), page.column("token").to_pylist())
        LOG.info("%d messages of %s are still lent", len(receipts), claim)
        return receipts

    def _ready(self) -> int:
        database = self._reach.database
        return database.run(lambda: database.store.queue_stats(self._queue, None)).ready

    @property
    def _beat(self) -> Heart:
        if self._heart is None:
            self._heart = Heart(self._reach.database, self._lease)
        return self._heart


def ranges(ids: Sequence[int], partitions: int) -> list[list[int]]:
    """Return the first and the last of ascending ids, cut into as many pieces of equal number as are worth it."""
    many = max(1, min(partitions, -(-len(ids) // FEWEST)))
    width = -(-len(ids) // many)
    pieces = [ids[start : start + width] for start in range(0, len(ids), width)]
    return [[piece[0], piece[-1]] for piece in pieces]


class Heart:
    """Extends the leases of one batch while it is worked on, from a thread of the driver.

    Args:
        database: where.
        lease: how long the leases last; they are extended when two thirds of that are over.
    """

    def __init__(self, database: Database, lease: timedelta) -> None:
        self._database, self._lease = database, lease
        self._claim = ""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def is_of(self, claim: str) -> bool:
        """Return whether it beats for a claim."""
        return bool(claim) and self._claim == claim

    def begin(self, claim: str, receipts: Sequence[Receipt]) -> None:
        """Extend these leases from now on, and no others."""
        self.stop()
        self._claim, self._stopped = claim, threading.Event()
        terms = (claim, list(receipts), self._stopped)
        self._thread = threading.Thread(target=self._extend, args=terms, name="duerow-leases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Extend nothing any more."""
        self._claim = ""
        self._stopped.set()

    def _extend(self, claim: str, receipts: list[Receipt], stopped: threading.Event) -> None:
        wait = self._lease.total_seconds() * 2 / 3
        while receipts and not stopped.wait(wait):
            try:
                receipts = self.beat(receipts)
            except StoreUnavailable as error:
                LOG.warning("the leases of %s could not be extended: %s", claim, error)
                wait = self._lease.total_seconds() / 30
            except DuerowError:
                LOG.exception("the leases of %s cannot be extended; its messages are due when they end", claim)
                return
            else:
                wait = self._lease.total_seconds() * 2 / 3

    def beat(self, receipts: Sequence[Receipt]) -> list[Receipt]:
        """Extend leases; return those that are still held."""
        kept: list[Receipt] = []
        for start in range(0, len(receipts), PIECE):
            piece = receipts[start : start + PIECE]
            kept += self._database.run(lambda some=piece: self._database.store.extend(some, self._lease))  # type: ignore[misc]
        return kept


def stream_writer(options: Mapping[str, str], schema: StructType) -> DataSourceStreamWriter:
    """Return what writes a stream: it ends turns if it is told what becomes of messages, else it pushes.

    Raises:
        ConfigurationError: an option or a column cannot be what it is.
    """
    if asks_to_settle(options, schema):
        return StreamSettling(ending(options, schema))
    return StreamPushing(pushing(SourceOptions(options, PUSH_KNOWN - {"atomic"}), schema))


class StreamPushing(DataSourceStreamArrowWriter):
    """Pushes each batch of a stream once, and whole.

    Args:
        pushing: what to push where.
    """

    def __init__(self, pushing: Pushing) -> None:
        self._pushing = pushing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedPart | Unfit:
        """Stage a partition under the name of this try."""
        return self._pushing.stage(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Publish what those tries staged that Spark says have succeeded, unless the batch was published before."""
        check_fit(messages)
        queries = {one.query for one in messages if isinstance(one, StagedPart)}
        if queries:
            (query,) = queries
            publish(self._pushing.reach.database, messages, self._pushing.on_duplicate, f"{query}/{batchId}")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Forget what was staged."""
        for batch in {one.batch for one in messages if isinstance(one, StagedPart)}:
            self._pushing.reach.database.bulk.discard(batch)
