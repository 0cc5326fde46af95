"""Queues as the source and the sink of a stream.

**Source.** A batch is a claim: messages reserved for the stream under one claim id. The offset contains that id and
ranges of message ids, so a batch can be found again from Spark's log: after a restart it consists of the messages that
are still leased under that claim. The source ends no turns, because Spark tells it late, and for the last batch never,
that a batch is over. The sink ends them (`duerow.spark.settle`). A message that reaches no sink is due again when its
lease ends. If a checkpoint is lost, no message is lost: the old claims expire, and new ones are made.

**Sink.** Rows without ids and tokens are new messages: tasks stage them, and the driver publishes each batch in one
transaction, which also records the query and the batch. So a repeated batch changes nothing.
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
from duerow.reservation import Receipt
from duerow.spark.columns import MESSAGE, Shape, check_schema, needed
from duerow.spark.options import SourceOptions
from duerow.spark.pages import Pages, pages_of
from duerow.spark.settle import StreamSettleWriter, asks_to_settle, settle_job
from duerow.spark.sink import KNOWN as PUSH_KNOWN
from duerow.spark.sink import PushJob, StagedPart, Unfit, check_fit, publish, push_job
from duerow.store import Scan
from duerow.store.consumer_id import new_claim
from duerow.sync.database import Database

if TYPE_CHECKING:
    import pyarrow as pa

LOG: Final = logging.getLogger("duerow.spark")

KNOWN: Final = frozenset({"queue", "batch", "lease", "partitions", "columns", "encrypted"})

BATCH: Final = 50_000
"""The maximum number of messages of a batch, by default."""

LEASE: Final = timedelta(minutes=10)
"""The lease of a batch, which is extended while the query runs."""

PARTITIONS: Final = 4
"""How many tasks read a batch, by default."""

FEWEST: Final = 1_000
"""How many messages justify another task."""

PAUSE: Final = 0.2
"""Seconds to wait when nothing is due, because Spark asks again at once."""

REPORTED: Final = 2.0
"""Seconds for which a count of due messages is reused, because Spark asks for it with each batch."""

PIECE: Final = 5_000
"""The maximum number of messages whose leases are extended in one transaction."""

NOTHING: Final[dict[str, Any]] = {"claim": "", "ranges": [], "count": 0}
"""The offset before the first batch."""


@dataclass(frozen=True)
class StreamPart(InputPartition):
    """A task's part of a batch: a range of ids.

    Attributes:
        pages: the scan for the messages that are still leased under the batch's claim.
        first, last: the first and the last id.
    """

    pages: Pages
    first: int
    last: int


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reserves the messages of a queue for a stream, batch by batch.

    Args:
        options: the options as Spark passes them.
        schema: the columns that Spark wants.

    Raises:
        ConfigurationError: an option is invalid, or the queue is missing.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        asked = SourceOptions(options, KNOWN)
        queue = asked.queue()
        if queue is None:
            raise ConfigurationError("a stream reads one queue; name it with the option queue")
        check_schema(MESSAGE, schema)
        self._queue, self._schema, self._reach = queue, schema, asked.reach()
        self._batch = asked.number("batch") or BATCH
        self._partitions = asked.number("partitions") or PARTITIONS
        self._lease = asked.span("lease", LEASE)
        self._as_kept = asked.one_of("encrypted", ("open", "keep")) == "keep"
        self._left: int | None = None
        self._reported: int | None = None
        self._reported_at = 0.0
        self._heart: Heart | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what only the driver has when the reader is sent to tasks."""
        return {**vars(self), "_heart": None}

    # Called on the driver.

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset before the first batch."""
        return dict(NOTHING)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a batch: the maximum number of messages."""
        return ReadMaxRows(self._batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """Record how many messages are due now, because the query does not wait for later ones."""
        self._left = self._ready()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Reserve the next batch; return the same offset if nothing is due."""
        self._beat.stop()  # the previous batch is over, and its messages are settled
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._ready()
        most = most if self._left is None else min(most, self._left)
        queue = self._reach.database.as_defined(self._queue)
        claim = new_claim("spark-stream")
        leased = queue.bulk.lend(most, lease=self._lease, consumer=claim) if most else None
        if leased is None or not leased.receipts:
            if self._left is None:
                time.sleep(PAUSE)
            return start
        if self._left is not None:
            self._left -= len(leased.receipts)
        self._beat.begin(claim, leased.receipts)
        ids = [receipt.id for receipt in leased.receipts]
        return {"claim": claim, "ranges": ranges(ids, self._partitions), "count": len(ids)}

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return how many messages are due and not yet in a batch; None if the database does not answer.

        The progress of a query shows it as the source's latest offset.
        """
        if self._reported is None or time.monotonic() - self._reported_at > REPORTED:
            try:
                self._reported, self._reported_at = self._ready(), time.monotonic()
            except StoreUnavailable as error:
                LOG.warning("cannot count what is due in %s: %s", self._queue, error)
                return None
        return {"ready": self._reported}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the ranges of a batch, which may have been reserved before a restart."""
        claim: str = end["claim"]
        if end == start or not claim:
            return []
        if not self._beat.is_of(claim):
            self._beat.begin(claim, self._found_again(claim, end["ranges"]))
        pages = self._pages(claim, needed(self._schema.names, False))
        return [StreamPart(pages, first, last) for first, last in end["ranges"]]

    def commit(self, end: dict[str, Any]) -> None:
        """Stop extending the leases of a batch that is over; messages that were not settled are due when they end."""
        if self._beat.is_of(end["claim"]):
            self._beat.stop()

    def stop(self) -> None:
        """Stop extending leases. Messages stay reserved, in case the query restarts before the leases end."""
        self._beat.stop()

    # Called in tasks.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages in a range of a batch that are still leased under its claim."""
        part, shape = cast(StreamPart, partition), Shape(self._schema, self._reach.sealing, self._as_kept)
        for page in part.pages.read([(part.first, part.last)]):
            yield from shape.batches(page)

    def _pages(self, claim: str, names: Sequence[str]) -> Pages:
        query = Scan(queues=(self._queue,), where=Compare(("leased_by",), "=", claim))
        return pages_of(self._reach, self._reach.database, query, names)

    def _found_again(self, claim: str, found: Sequence[Sequence[int]]) -> list[Receipt]:
        """Return the receipts of the messages that are still leased under a claim."""
        receipts: list[Receipt] = []
        pages = self._pages(claim, ("id", "token"))
        for page in pages.read([(first, last) for first, last in found]):
            receipts += map(Receipt, page.column("id").to_pylist(), page.column("token").to_pylist())
        LOG.info("%d messages of %s are still leased", len(receipts), claim)
        return receipts

    def _ready(self) -> int:
        database = self._reach.database
        return database.run(lambda: database.store.operations.queue_stats(self._queue, None)).ready

    @property
    def _beat(self) -> Heart:
        if self._heart is None:
            self._heart = Heart(self._reach.database, self._lease)
        return self._heart


def ranges(ids: Sequence[int], partitions: int) -> list[list[int]]:
    """Return the first and last id of each of several equal parts of ascending ids."""
    many = max(1, min(partitions, -(-len(ids) // FEWEST)))
    width = -(-len(ids) // many)
    pieces = [ids[start : start + width] for start in range(0, len(ids), width)]
    return [[piece[0], piece[-1]] for piece in pieces]


class Heart:
    """Extends the leases of a batch while it is processed, from a thread on the driver.

    Args:
        database: the database of the messages.
        lease: the length of the leases; they are extended after two thirds of it.
    """

    def __init__(self, database: Database, lease: timedelta) -> None:
        self._database, self._lease = database, lease
        self._claim = ""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def is_of(self, claim: str) -> bool:
        """Return whether it is extending the leases of this claim."""
        return bool(claim) and self._claim == claim

    def begin(self, claim: str, receipts: Sequence[Receipt]) -> None:
        """Start extending these leases, and no others."""
        self.stop()
        self._claim, self._stopped = claim, threading.Event()
        terms = (claim, list(receipts), self._stopped)
        self._thread = threading.Thread(target=self._extend, args=terms, name="duerow-leases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop extending leases."""
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
                LOG.exception("the leases of %s cannot be extended; its messages become due when the leases end", claim)
                return
            else:
                wait = self._lease.total_seconds() * 2 / 3

    def beat(self, receipts: Sequence[Receipt]) -> list[Receipt]:
        """Extend the leases once; return those that are still held."""
        kept: list[Receipt] = []
        for start in range(0, len(receipts), PIECE):
            piece = receipts[start : start + PIECE]
            kept += self._database.run(lambda some=piece: self._database.store.messages.extend(some, self._lease))  # type: ignore[misc]
        return kept


def stream_writer(options: Mapping[str, str], schema: StructType) -> DataSourceStreamWriter:
    """Return the writer for a stream: it ends turns if the options ask for that, and otherwise pushes.

    Raises:
        ConfigurationError: an option or a column is invalid.
    """
    if asks_to_settle(options, schema):
        return StreamSettleWriter(settle_job(options, schema))
    return StreamPushWriter(push_job(SourceOptions(options, PUSH_KNOWN - {"atomic"}), schema))


class StreamPushWriter(DataSourceStreamArrowWriter):
    """Pushes each batch of a stream exactly once, in one transaction.

    Args:
        pushing: the instructions for pushing.
    """

    def __init__(self, pushing: PushJob) -> None:
        self._pushing = pushing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedPart | Unfit:
        """Stage a partition under the name of this attempt."""
        return self._pushing.stage(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Publish what the successful attempts staged, unless the batch was already published."""
        check_fit(messages)
        queries = {one.query for one in messages if isinstance(one, StagedPart)}
        if None in queries:  # all such queries would share a name, and only the first batch be pushed
            raise ConfigurationError(
                f"Spark does not say which query batch {batchId} belongs to, so a repeated batch could not be "
                "noticed; nothing was pushed: push the batch in foreachBatch instead"
            )
        if queries:
            (query,) = queries
            publish(self._pushing.reach.database, messages, self._pushing.on_duplicate, f"{query}/{batchId}")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Discard what was staged."""
        for batch in {one.batch for one in messages if isinstance(one, StagedPart)}:
            self._pushing.reach.database.bulk.discard(batch)
