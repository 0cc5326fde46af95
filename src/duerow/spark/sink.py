"""Push the rows of a frame: each once, however often Spark tries, duplicates or forgets a task.

Each partition is one transaction, which also notes the partition's name: a second try, a second copy or a zombie finds
it noted and writes nothing. The partition is the smallest piece for which that is true: a second try may get its rows
in another order, or others altogether if the plan is not deterministic, so a part of one try and a part of another do
not make a whole. With `atomic` the tasks stage what they have, and the driver publishes what those tries staged that
Spark says have succeeded: all or nothing.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from duerow.errors import ConfigurationError, InvalidMessage
from duerow.message import ON_DUPLICATE, OnDuplicate, check_on_duplicate
from duerow.plan import BEGIN, Plan, run
from duerow.spark.conflict_retry import Rest, outlast
from duerow.spark.gc_freeze import keep_what_is_imported
from duerow.spark.options import Reach, SourceOptions
from duerow.spark.rows import Rows, check_pushed
from duerow.spark.settle import BatchSettling, asks_to_settle, ending
from duerow.store import Entry, Store
from duerow.sync.database import Database

LOG: Final = logging.getLogger("duerow.spark")

KNOWN: Final = frozenset({"queue", "on_duplicate", "atomic"})

GATHERED: Final = 64 << 20
"""Bytes of a partition that are kept at hand; a larger one is written while it comes, and then only tried once."""


class Place(NamedTuple):
    """Where a task stands in its job.

    Attributes:
        partition: which part of the frame it has; the same for every try.
        attempt: which try it is; unique in the application.
        query: the query that it belongs to, if that is a stream: as its checkpoint says.
    """

    partition: int
    attempt: int
    query: str | None


def place() -> Place:
    """Return where this task stands."""
    task = TaskContext.get()
    if task is None:
        raise ConfigurationError("this runs within a task of Spark's alone")
    return Place(task.partitionId(), task.taskAttemptId(), task.getLocalProperty("sql.streaming.queryId"))


@dataclass(frozen=True)
class Pushing:
    """What to push where, as every task is told.

    Attributes:
        reach: how to reach the queues.
        names: the columns of the rows.
        as_text: whether the payload is JSON text already.
        queue: where rows go that name no queue.
        on_duplicate: what to do when a live message has the key of a row.
        batch: names what belongs together: a job.
    """

    reach: Reach
    names: tuple[str, ...]
    as_text: bool
    queue: str | None
    on_duplicate: OnDuplicate
    batch: str

    def rows(self, whole: bool) -> Rows:
        """Return what makes entries of rows; `whole`: they are published with those of other tasks."""
        return Rows(self.reach.database, self.names, self.as_text, self.queue, not whole)

    def stage(self, batches: Iterable[pa.RecordBatch]) -> StagedPart | Unfit:
        """Keep the rows of a partition where nobody sees them."""
        at = place()
        part, count = f"{at.partition}-{at.attempt}", 0
        database, rows = self.reach.database, self.rows(whole=True)
        try:
            for entries in rows.chunks(batches):
                database.bulk.stage(self.batch, part, entries)
                count += len(entries)
        except InvalidMessage as error:
            return Unfit(str(error))
        return StagedPart(self.batch, part, count, at.query)


@dataclass(frozen=True)
class PushedPart(WriterCommitMessage):
    """What a task says: how many rows it pushed, 0 if another try of it had."""

    rows: int


@dataclass(frozen=True)
class StagedPart(WriterCommitMessage):
    """What a task says: what it staged under which name, and in which query."""

    batch: str
    part: str
    rows: int
    query: str | None


@dataclass(frozen=True)
class Unfit(WriterCommitMessage):
    """What a task says that pushed or staged nothing, since a row of its partition cannot be a message.

    Spark would try a task that fails three times more, and print each failure with all that was called.

    Attributes:
        why: which row, and why not.
    """

    why: str


def check_fit(messages: Iterable[WriterCommitMessage | None]) -> None:
    """Raise InvalidMessage if a partition had a row that cannot be a message."""
    if unfit := [one.why for one in messages if isinstance(one, Unfit)]:
        more = f" (and {len(unfit) - 1} more partitions have such a row)" if len(unfit) > 1 else ""
        raise InvalidMessage(f"{unfit[0]}{more}")


def pushing(options: SourceOptions, schema: StructType) -> Pushing:
    """Return what to push where; the database is looked at, so that nothing is begun that cannot be done.

    Raises:
        ConfigurationError: an option or a column cannot be what it is.
        SchemaOutdated, SchemaNewer, StoreUnavailable: as `duerow.connect`.
    """
    queue, mode = options.queue(), check_on_duplicate(options.one_of("on_duplicate", ON_DUPLICATE))
    check_pushed(schema, queue)
    reach = options.reach()
    with reach.planning():
        keep_what_is_imported()
    as_text = isinstance(schema["payload"].dataType, StringType)
    return Pushing(reach, tuple(schema.names), as_text, queue, mode, f"spark-{secrets.token_hex(8)}")


def writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceWriter:
    """Return what writes a frame.

    Raises:
        ConfigurationError: it would overwrite; an option or a column cannot be what it is.
    """
    if overwrite:
        raise ConfigurationError(
            "a queue cannot be overwritten: messages are handed out, not replaced; use mode('append'), and "
            "on_duplicate=replace with a column key to change messages that wait"
        )
    if asks_to_settle(options, schema):
        return BatchSettling(ending(options, schema))
    asked = SourceOptions(options, KNOWN)
    told = pushing(asked, schema)
    return WholeWriter(told) if asked.flag("atomic") else RowWriter(told)


class RowWriter(DataSourceArrowWriter):
    """Pushes each partition once, in one transaction.

    Args:
        pushing: what to push where.
    """

    def __init__(self, pushing: Pushing) -> None:
        self._pushing = pushing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PushedPart | Unfit:
        """Push a partition, unless another try has."""
        try:
            return self._push(iterator)
        except InvalidMessage as error:
            return Unfit(str(error))

    def _push(self, iterator: Iterator[pa.RecordBatch]) -> PushedPart:
        told = self._pushing
        database, rows = told.reach.database, told.rows(whole=False)
        once = f"{told.batch}/{place().partition}"
        gathered, is_all = gather(iterator)

        def plan(batches: Sequence[pa.RecordBatch] | Iterator[pa.RecordBatch]) -> Plan[int]:
            return push_once(database.store, rows, batches, told.on_duplicate, once)

        if is_all:
            pushed = PushedPart(outlast(lambda: database.run(lambda: plan(gathered))))
            keep_what_is_imported()
            return pushed
        rest = Rest(iterator)

        def push() -> PushedPart:
            with database.connections.open() as execute:
                return PushedPart(run(plan(chain(gathered, rest)), execute))

        return outlast(push, lambda: not rest.touched)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Tell of rows that cannot be messages; the other partitions are there already."""
        check_fit(messages)
        LOG.info("pushed %s rows", sum(one.rows for one in messages if isinstance(one, PushedPart)))


class WholeWriter(DataSourceArrowWriter):
    """Stages each partition, and publishes all in one transaction.

    Args:
        pushing: what to push where.
    """

    def __init__(self, pushing: Pushing) -> None:
        self._pushing = pushing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedPart | Unfit:
        """Stage a partition under the name of this try."""
        return self._pushing.stage(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what those tries staged that Spark says have succeeded."""
        told = self._pushing
        with told.reach.planning() as database:
            publish(database, messages, told.on_duplicate, told.batch)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Forget what was staged; what a task stages that does not know yet is forgotten within a day."""
        with self._pushing.reach.planning() as database:
            database.bulk.discard(self._pushing.batch)


def publish(
    database: Database, messages: Iterable[WriterCommitMessage | None], on_duplicate: OnDuplicate, once: str
) -> None:
    """Push what tasks staged, in the order of the partitions, unless it was under this name."""
    messages = list(messages)
    check_fit(messages)
    staged = [one for one in messages if isinstance(one, StagedPart) and one.rows]
    if not staged:
        return
    (batch,) = {one.batch for one in staged}
    parts = {one.part: one.rows for one in staged}
    if outlast(lambda: database.bulk.publish(batch, parts, on_duplicate=on_duplicate, once=once)).repeated:
        LOG.info("%s was published before", once)
        database.bulk.discard(batch)


def gather(batches: Iterator[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], bool]:
    """Return the first batches, about as many as are kept at hand, and whether that is all."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        gathered.append(batch)
        size += batch.nbytes
        if size > GATHERED:
            return gathered, False
    return gathered, True


def push_once(
    store: Store, rows: Rows, batches: Iterable[pa.RecordBatch], on_duplicate: OnDuplicate, once: str
) -> Plan[int]:
    """Push rows in one transaction and note a name with it; if that is noted already push nothing.

    Returns how many were pushed.
    """
    yield BEGIN
    count = 0
    for entries in rows.chunks(batches):
        for remembers, some in _by_memory(rows, entries):
            answers = yield from store.push(some, on_duplicate, remembers, None if count else once)
            if not answers:
                return 0
            count += len(some)
    return count


def _by_memory(rows: Rows, entries: Sequence[Entry]) -> list[tuple[bool, list[Entry]]]:
    """Return entries by whether their queue remembers keys."""
    parts: dict[bool, list[Any]] = {}
    for one in entries:
        parts.setdefault(rows.terms(one.queue).remembers, []).append(one)
    return list(parts.items())
