"""Push the rows of a frame, each exactly once, even if Spark repeats, duplicates or loses a task.

Each partition is one transaction, which also records the partition's name: a repeated or duplicate task finds the name
and writes nothing. A transaction cannot be smaller than a partition: a repeated task may get its rows in another order,
or different rows if the plan is not deterministic, so parts of two attempts might not add up to the whole. With
`atomic`, tasks stage their rows, and the driver publishes what the successful attempts staged, all or nothing.
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
from duerow.spark.settle import BatchSettleWriter, asks_to_settle, settle_job
from duerow.store import Entry, Store
from duerow.sync.database import Database

LOG: Final = logging.getLogger("duerow.spark")

KNOWN: Final = frozenset({"queue", "on_duplicate", "atomic"})

GATHERED: Final = 64 << 20
"""The most bytes of a partition that are buffered; a larger partition is written as it arrives, and tried only once."""


class Place(NamedTuple):
    """A task's place in its job.

    Attributes:
        partition: the number of its partition; the same for every attempt.
        attempt: the number of the attempt; unique in the application.
        query: for a stream, the id of its query, from the checkpoint.
    """

    partition: int
    attempt: int
    query: str | None


def place() -> Place:
    """Return the place of this task."""
    task = TaskContext.get()
    if task is None:
        raise ConfigurationError("this runs only within a Spark task")
    return Place(task.partitionId(), task.taskAttemptId(), task.getLocalProperty("sql.streaming.queryId"))


@dataclass(frozen=True)
class PushJob:
    """The instructions for pushing; they are sent to every task.

    Attributes:
        reach: how tasks reach the database.
        names: the columns of the rows.
        as_text: whether the payload is already JSON text.
        queue: the queue for rows that name none.
        on_duplicate: what to do if a live message has the key of a row.
        batch: the name of the job.
    """

    reach: Reach
    names: tuple[str, ...]
    as_text: bool
    queue: str | None
    on_duplicate: OnDuplicate
    batch: str

    def rows(self, whole: bool) -> Rows:
        """Return an object that turns rows into entries; `whole`: they are published with those of other tasks."""
        return Rows(self.reach.database, self.names, self.as_text, self.queue, not whole)

    def stage(self, batches: Iterable[pa.RecordBatch]) -> StagedPart | Unfit:
        """Stage the rows of a partition, invisible to consumers."""
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
    """What a task reports: how many rows it pushed; 0 if another attempt had already pushed them."""

    rows: int


@dataclass(frozen=True)
class StagedPart(WriterCommitMessage):
    """What a task reports: how much it staged, under which name and in which query."""

    batch: str
    part: str
    rows: int
    query: str | None


@dataclass(frozen=True)
class Unfit(WriterCommitMessage):
    """What a task reports if it pushed or staged nothing because a row of its partition cannot be a message.

    If the task failed instead, Spark would retry it three times and print each traceback.

    Attributes:
        why: the row, and what is wrong with it.
    """

    why: str


def check_fit(messages: Iterable[WriterCommitMessage | None]) -> None:
    """Raise InvalidMessage if a partition had a row that cannot be a message."""
    if unfit := [one.why for one in messages if isinstance(one, Unfit)]:
        more = f" (and {len(unfit) - 1} more partitions have such a row)" if len(unfit) > 1 else ""
        raise InvalidMessage(f"{unfit[0]}{more}")


def push_job(options: SourceOptions, schema: StructType) -> PushJob:
    """Return the instructions for pushing, after a check that the database supports it.

    Raises:
        ConfigurationError: an option or a column is invalid.
        SchemaOutdated, SchemaNewer, StoreUnavailable: as for `duerow.connect`.
    """
    queue, mode = options.queue(), check_on_duplicate(options.one_of("on_duplicate", ON_DUPLICATE))
    check_pushed(schema, queue)
    reach = options.reach()
    with reach.planning():
        keep_what_is_imported()
    as_text = isinstance(schema["payload"].dataType, StringType)
    return PushJob(reach, tuple(schema.names), as_text, queue, mode, f"spark-{secrets.token_hex(8)}")


def writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceWriter:
    """Return the writer for a frame.

    Raises:
        ConfigurationError: the mode is overwrite; an option or a column is invalid.
    """
    if overwrite:
        raise ConfigurationError(
            "a queue cannot be overwritten; use mode('append'), and "
            "on_duplicate=replace with a column key to change waiting messages"
        )
    if asks_to_settle(options, schema):
        return BatchSettleWriter(settle_job(options, schema))
    asked = SourceOptions(options, KNOWN)
    told = push_job(asked, schema)
    return WholeWriter(told) if asked.flag("atomic") else RowWriter(told)


class RowWriter(DataSourceArrowWriter):
    """Pushes each partition exactly once, in one transaction.

    Args:
        pushing: the instructions for pushing.
    """

    def __init__(self, pushing: PushJob) -> None:
        self._pushing = pushing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PushedPart | Unfit:
        """Push a partition, unless another attempt has done so."""
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
        """Raise an error if a row cannot be a message; the other partitions have already been pushed."""
        check_fit(messages)
        LOG.info("pushed %s rows", sum(one.rows for one in messages if isinstance(one, PushedPart)))


class WholeWriter(DataSourceArrowWriter):
    """Stages each partition and publishes all of them in one transaction.

    Args:
        pushing: the instructions for pushing.
    """

    def __init__(self, pushing: PushJob) -> None:
        self._pushing = pushing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedPart | Unfit:
        """Stage a partition under the name of this attempt."""
        return self._pushing.stage(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what the successful attempts staged."""
        told = self._pushing
        with told.reach.planning() as database:
            publish(database, messages, told.on_duplicate, told.batch)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Discard what was staged; anything that a task stages afterward is discarded within a day."""
        with self._pushing.reach.planning() as database:
            database.bulk.discard(self._pushing.batch)


def publish(
    database: Database, messages: Iterable[WriterCommitMessage | None], on_duplicate: OnDuplicate, once: str
) -> None:
    """Push what tasks staged, in the order of the partitions, unless this name was already published."""
    messages = list(messages)
    check_fit(messages)
    staged = [one for one in messages if isinstance(one, StagedPart) and one.rows]
    if not staged:
        return
    (batch,) = {one.batch for one in staged}
    parts = {one.part: one.rows for one in staged}
    if outlast(lambda: database.bulk.publish(batch, parts, on_duplicate=on_duplicate, once=once)).repeated:
        LOG.info("%s was already published", once)
        database.bulk.discard(batch)


def gather(batches: Iterator[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], bool]:
    """Return the first batches, up to about `GATHERED` bytes, and whether those are all."""
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
    """Push rows in one transaction that also records a name; if the name is already recorded, push nothing.

    Returns how many rows were pushed.
    """
    yield BEGIN
    count = 0
    for entries in rows.chunks(batches):
        for remembers, some in _by_memory(rows, entries):
            answers = yield from store.messages.push(some, on_duplicate, remembers, None if count else once)
            if not answers:
                return 0
            count += len(some)
    return count


def _by_memory(rows: Rows, entries: Sequence[Entry]) -> list[tuple[bool, list[Entry]]]:
    """Return the entries grouped by whether their queue remembers keys."""
    parts: dict[bool, list[Any]] = {}
    for one in entries:
        parts.setdefault(rows.terms(one.queue).remembers, []).append(one)
    return list(parts.items())
