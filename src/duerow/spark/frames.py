"""The driver's side of a frame station: lend a batch, hand it to the function as a frame, let tasks carry it out.

The driver holds receipts, never payloads. What goes wrong in a job is blamed on the batch, which is halved until the
guilty message is alone; what is wrong with the function itself is seen in the plan and raised, and the batch is given
back.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, Final, TypeVar

from duerow.errors import (
    BatchRefused,
    ConfigurationError,
    DuerowError,
    InvalidOutcome,
    StationFailed,
    StoreUnavailable,
)
from duerow.payload.encoding import UNREAD, is_quiet
from duerow.pipeline import Frame
from duerow.pipeline.frame import RESERVED, TAKEN
from duerow.queue import mapping
from duerow.queue.consumer_id import new_claim
from duerow.reservation import BareReservation
from duerow.settlement import Bury, Rollback, Settlement
from duerow.spark import read, write
from duerow.spark.batch import Batch, Heartbeat, still_held
from duerow.spark.jobs import Job, SparkRun, pickled
from duerow.spark.probe import last_line
from duerow.spark.read import Desk, read_task
from duerow.spark.schema import (
    HOPS_COLUMN,
    PAYLOAD,
    check_fits,
    frame_schema,
    has_times,
    payload_columns,
    payload_text,
    schema_of,
    with_columns,
)
from duerow.spark.task import OUTAGE, WORKER, Tally
from duerow.spark.write import COLUMNS, FrameWriting, Written, open_task, packed, read_written, write_task
from duerow.store import Committed, Lease, Query, Turn
from duerow.worker.prefetch import patiently

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from duerow.sync.queue import Queue

T = TypeVar("T")

LOG: Final = logging.getLogger("duerow.spark")

SPARE: Final = 3
"""Failures in a row, beyond those that it takes to find one guilty message, after which a batch is put off."""


TIME_RULES: Final = "spark.sql.legacy.timeParserPolicy"


class BatchFailed(Exception):
    """A batch could not be carried out.

    Attributes:
        cause: why.
    """

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause
        super().__init__(str(cause))


class Tainted(Exception):
    """Messages of a batch were no longer ours at its end: it is carried out again without them."""


class FrameJob(Job):
    """Rounds of a frame station: a batch each."""

    station: Frame

    def __init__(self, run: SparkRun, station: Frame) -> None:
        super().__init__(run, station)
        self._queue: Queue[Any] = station.queue(run.database)
        self._schema = frame_schema(station)
        self._check_times(self._schema)
        types = {one.name: one.payload for one in run.pipeline.stations}
        self._targets = {queue: types.get(queue) for queue in station.targets}
        self._expected = {queue: schema_of(of) for queue, of in self._targets.items() if of is not None}
        without_function = replace(station, function=_nothing)
        self._desk = Desk(
            run.access,
            station.name,
            pickled(station, (without_function, self._schema, self._targets)),
            run.pipeline.max_hops,
        )
        self._counts_hops = not station.rowwise and run.pipeline.is_on_a_loop(station)
        self._lending, self._opened, self._ahead = threading.Lock(), False, False

    @property
    def rounds(self) -> int:
        """Two while there is more than a batch: the next one is lent while tasks are at work on one."""
        return 2 if self._ahead else 1

    def round(self) -> None:
        """Carry out one batch of what is due."""
        self._open()
        batch = self._lend()
        if not len(batch):
            return
        left, since = [batch], time.monotonic()
        with Heartbeat(self._queue, batch, self.station.lease):
            try:
                self._work_off(left)
            except BaseException as error:
                self._give_back(left, error)
                raise
        self._run.database.meter.handled(self.station.name, [time.monotonic() - since], len(batch))
        self._write_counts()
        LOG.info("%s of %s: %s", self.station, self._run.pipeline, self.tally)

    def _write_counts(self) -> None:
        """Write what was counted for `stats`; what cannot be now is written another time, since the batch is over."""
        try:
            self._run.database.write_counts()
        except StoreUnavailable as error:
            LOG.warning("%s of %s: its counts cannot be written now: %s", self.station, self._run.pipeline, error)

    def _open(self) -> None:
        """Raise ConfigurationError, before anything is lent, if the executors cannot load what the station needs."""
        if self._opened:
            return
        places = self._run.parallelism
        try:
            self._run.spark.range(0, places, 1, places).mapInArrow(open_task(self._desk), "id long").collect()
        except Exception as error:
            raise ConfigurationError(
                f"{self.station}: the executors cannot load what it needs: {last_line(error)}; the types of payloads, "
                "here and where it sends to, must be in modules that are installed there, or in the program itself"
            ) from error
        self._opened = True

    def _lend(self) -> Batch:
        limit, claim = self.station.batch, new_claim(WORKER)
        with self._lending:
            if self._budget is not None:
                limit = min(limit, self._budget.room())
            lent = self._patiently(lambda: self._queue.bulk.lend(limit, consumer=claim)) if limit else Lease([], {})
            if self._budget is not None:
                self._budget.spend(len(lent.receipts))
        self._ahead = len(lent.receipts) == limit and self._budget is None
        self.count(Tally(claimed=len(lent.receipts), buried=len(lent.buried)))
        return Batch(claim, lent)

    def _give_back(self, left: Sequence[Batch], error: BaseException | None = None) -> None:
        """Give back what is still ours of these batches; if that cannot be, it is due when its lease ends."""
        for batch in left:
            for piece in batch.pieces():
                try:
                    refused = self._queue.bulk.give_back(Lease(piece, batch.lent.groups))
                except StoreUnavailable as gone:
                    if error is None:
                        raise
                    error.add_note(f"messages of {self.station} stay lent until their lease ends: {gone}")
                    return
                self.count(Tally(released=len(piece) - len(refused)))

    # Halving.

    def _work_off(self, left: list[Batch]) -> None:
        """Carry out the batches of a stack, from its end; one that fails is replaced by its halves.

        A message that fails alone has failed by its policy. When so many batches have failed in a row that it cannot
        be a single message's fault, all that is left fails, and comes again after its delays.
        """
        failures, allowed = 0, len(left[-1]).bit_length() + 1 + SPARE
        while left:
            if self._run.stop.is_set() and failures:
                self._give_back(left)
                return
            batch = left[-1]
            try:
                self._carry_out(batch)
            except Tainted:
                left[-1:] = self._still_ours(batch)
            except BatchFailed as failed:
                failures += 1
                self._check_spark(failed)
                self._tell(batch, failed)
                if failures > allowed:
                    while left:
                        self._fail(left[-1], failed.cause)
                        left.pop()
                elif len(batch) == 1:
                    self._fail(batch, failed.cause)
                    left.pop()
                else:
                    left[-1:] = [half for rest in self._still_ours(batch) for half in reversed(rest.halves())]
            else:
                failures = 0
                left.pop()

    def _still_ours(self, batch: Batch) -> list[Batch]:
        held = self._patiently(lambda: still_held(self._queue, batch, self.station.lease))
        if not self.station.rowwise:
            self.count(Tally(refused=len(batch) - len(held)))
        return [held] if len(held) else []

    def _check_spark(self, failed: BatchFailed) -> None:
        """Raise StationFailed unless Spark is there: what fails for want of it is no message's fault."""
        if self._run.stop.is_set():
            return
        try:
            self._run.spark.range(1).count()
        except Exception as error:
            raise StationFailed(
                f"{self.station} of {self._run.pipeline}: Spark is away: {last_line(error)}"
            ) from failed

    def _tell(self, batch: Batch, failed: BatchFailed) -> None:
        what = "message" if len(batch) == 1 else f"batch of {len(batch)}, which is halved"
        quiet = is_quiet(self._run.database.encryption)
        why = type(failed.cause).__name__ if quiet else f"{type(failed.cause).__name__}: {failed}"[:500]
        LOG.warning("%s of %s: failed on a %s: %s", self.station, self._run.pipeline, what, why)

    def _fail(self, batch: Batch, cause: BaseException) -> None:
        """End the turns of a batch as failed, as the retry policy says of each."""
        self._settle_failed(batch, dict.fromkeys(batch.ids, cause))

    def _settle_failed(self, batch: Batch, causes: dict[int, BaseException]) -> None:
        for piece in batch.of(causes).pieces():
            pairs = self._decided([receipt.id for receipt in piece], batch, causes)
            if not pairs:
                continue
            refused = self._patiently(lambda pairs=pairs: self._queue.settle(pairs))  # type: ignore[misc]
            gone = {one.receipt for one in refused}
            ended = [settlement for one, settlement in pairs if one.receipt not in gone]
            failed, buried = (sum(isinstance(one, kind) for one in ended) for kind in (Rollback, Bury))
            self.count(Tally(failed=failed, buried=buried, refused=len(gone)))

    def _decided(
        self, ids: Sequence[int], batch: Batch, causes: dict[int, BaseException]
    ) -> list[tuple[BareReservation, Settlement]]:
        """Return how the turns of failed messages end, of those that are still ours."""
        find, max_hops = self._run.database.store.find, self._run.pipeline.max_hops
        tokens = {receipt.id: receipt.token for receipt in batch.lent.receipts}
        query = Query(self.station.name, ids=tuple(ids), by_id=True, limit=len(ids))
        records = self._patiently(lambda: self._run.database.run(lambda: find(query), None, len(ids)))
        ours = [one for one in records if one.token == tokens[one.id] and one.leased_until is not None]
        messages = [(mapping.readable(one, UNREAD), one.leased_until) for one in ours]
        return [
            (BareReservation(message, until), self.station.concluded(message, causes[message.id], max_hops))
            for message, until in messages
            if until is not None
        ]

    # One batch.

    def _carry_out(self, batch: Batch) -> None:
        """Let the function make a plan, and tasks carry it out and write the result."""
        name = f"{batch.claim}.{secrets.token_hex(4)}"
        with self._run.tagged(self.station):
            messages = self._messages(batch)
            result = self._called(with_columns(messages, self._schema))
            try:
                task, rows = self._written(result, messages, batch, name)
                try:
                    written = read_written(rows.mapInArrow(write_task(task), write.SCHEMA).collect())
                except PicklingError as error:
                    raise ConfigurationError(
                        f"{self.station}: its function's plan cannot be sent to the executors: {error}"
                    ) from error
                except Exception as error:
                    raise BatchFailed(StationFailed(last_line(error))) from error
                self._check(written, batch)
                (self._drop if self.station.rowwise else self._publish)(written, batch, name)
            except (BatchFailed, Tainted):
                if not self.station.rowwise:
                    self._patiently(lambda: self._run.database.bulk.discard(name))
                raise

    def _messages(self, batch: Batch) -> DataFrame:
        ranges = batch.ranges(self._run.parallelism)
        places = self._run.spark.range(0, len(ranges), 1, len(ranges))
        return places.mapInArrow(read_task(self._desk, batch.claim, ranges), read.SCHEMA)

    def _called(self, frame: DataFrame) -> DataFrame:
        """Return what the function makes of a frame; what can only be a mistake in it is raised."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import DataFrame

        try:
            result: object = self.station.function(frame)
            if isinstance(result, DataFrame):
                result.schema  # noqa: B018 - which Spark Connect finds out only when it is asked
        except (AnalysisException, ConfigurationError) as error:
            raise ConfigurationError(f"{self.station}: its function makes no plan for Spark: {error}") from error
        except Exception as error:
            raise BatchFailed(error) from error
        if not isinstance(result, DataFrame):
            raise ConfigurationError(
                f"{self.station}: its function returned {result!r:.80}; it returns a data frame of Spark's"
            )
        if result.isStreaming:
            raise ConfigurationError(
                f"{self.station}: its function returned a stream; it returns a data frame of a batch"
            )
        return result

    def _written(
        self, result: DataFrame, messages: DataFrame, batch: Batch, name: str
    ) -> tuple[FrameWriting, DataFrame]:
        """Return what `_outgoing` does; raise ConfigurationError if Spark cannot write such columns as messages."""
        from pyspark.errors import AnalysisException

        try:
            task, rows = self._outgoing(result, messages, batch, name)
            rows.schema  # noqa: B018 - which Spark Connect finds out only when it is asked
        except AnalysisException as error:
            raise self._unfit(f"cannot be written as messages: {error}") from error
        return task, rows

    def _outgoing(
        self, result: DataFrame, messages: DataFrame, batch: Batch, name: str
    ) -> tuple[FrameWriting, DataFrame]:
        """Return what to tell the tasks that write, and the result as they are handed it."""
        from pyspark.sql import functions

        self._check_columns(result)
        has = set(TAKEN) & set(result.columns)
        text: Column = functions.lit(None)
        written: Any = None
        if payload_columns(result.schema):
            text, written = payload_text(result)
            self._check_times(written)
            has.add(PAYLOAD)
            for queue, expected in self._expected.items():
                check_fits(self.station, queue, expected, written)
        if self._counts_hops:  # also where the result has headers: they may be none of a message's
            moved = functions.get_json_object("_headers", "$.hops").cast("int")
            result = result.crossJoin(functions.broadcast(messages.agg(functions.max(moved).alias(HOPS_COLUMN))))
            has.add(HOPS_COLUMN)
        columns = [text if name == PAYLOAD else _column(name, name in has) for name in COLUMNS]
        named = [column.cast(_TYPES[name]).alias(name) for name, column in zip(COLUMNS, columns, strict=True)]
        receipts = packed(batch) if self.station.rowwise else b""
        return FrameWriting(self._desk, name, frozenset(has), written, receipts), result.select(*named)

    def _check_times(self, of: DataType | None) -> None:
        """Raise ConfigurationError if columns hold times, and Spark reads them by rules that change them."""
        if of is None or not has_times(of):
            return
        rules = self._run.spark.conf.get(TIME_RULES, "CORRECTED")  # Spark refuses a default that is no such rule
        if str(rules).upper() == "LEGACY":
            raise ConfigurationError(
                f"{self.station}: {TIME_RULES} is LEGACY, by which Spark takes 0.123456 s in a payload for 123 s; "
                "set it to CORRECTED for this session"
            )

    def _check_columns(self, result: DataFrame) -> None:
        """Raise ConfigurationError unless the columns of a result can be messages."""
        from pyspark.sql import types

        names = result.columns
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise self._unfit(f"has the column {', '.join(map(repr, twice))} twice; drop or rename one")
        if HOPS_COLUMN in map(str.lower, names):
            raise self._unfit(f"has a column {HOPS_COLUMN!r}, as frames have themselves on their way; rename it")
        if odd := [name for name in names if name not in RESERVED and name.lower() in RESERVED]:
            raise self._unfit(f"has the column {odd[0]!r}; the one that frames know is written {odd[0].lower()!r}")
        if self.station.rowwise and "_id" not in names:
            raise self._unfit(
                "has no column _id, by which each row is known as a message's; keep it, or leave rowwise out"
            )
        if not self.station.rowwise and not payload_columns(result.schema):
            raise self._unfit("has no columns that could be a payload")
        if len(self.station.ways) > 1 and "_queue" not in names:
            raise self._unfit(f"has no column _queue, and may go to {', '.join(map(repr, self.station.ways))}")
        wanted: dict[str, Any] = {
            "_id": types.IntegralType,
            "_priority": types.IntegralType,
            "_due": types.TimestampType,
            **dict.fromkeys(("_queue", "_error", "_key", "_group", "_headers"), types.StringType),
        }
        for field in result.schema.fields:
            of = wanted.get(field.name)
            if of is not None and not isinstance(field.dataType, of | types.NullType):
                known = of.__name__.removesuffix("Type").lower()
                raise self._unfit(
                    f"has {field.name} as {field.dataType.simpleString()}; it is a column of type {known}"
                )

    def _unfit(self, why: str) -> ConfigurationError:
        return ConfigurationError(f"{self.station}: the data frame that its function returned {why}")

    def _check(self, written: Sequence[Written], batch: Batch) -> None:
        """Raise what is wrong with what the tasks say of the result."""
        problem = next((one.problem for one in written if one.problem), None)
        for one in written:
            self.count(_done(one.tally))
        if problem is not None:
            raise BatchFailed(InvalidOutcome(problem))
        failed = {id for one in written for id in one.failed}
        named = {id for one in written for id in one.ids}
        if strange := (failed | named) - set(batch.ids):
            raise BatchFailed(
                InvalidOutcome(
                    f"{self.station}: its result has the _id {min(strange)}, which is not of a message of the batch"
                )
            )
        if both := failed & named:
            raise BatchFailed(
                InvalidOutcome(f"{self.station}: message {min(both)} has rows with an _error and rows without")
            )

    def _drop(self, written: Sequence[Written], batch: Batch, name: str) -> None:
        """End the turns of messages that the result does not have, and see that it has none twice."""
        returned = [id for one in written for id in one.ids]
        dropped = batch.of(set(batch.ids).difference(returned))
        for piece in dropped.pieces():
            turns = [Turn(receipt, _DROPPED, self._group(batch, receipt.id)) for receipt in piece]
            refused = self._patiently(lambda turns=turns: self._queue.bulk.end_turns(turns))  # type: ignore[misc]
            self.count(Tally(settled=len(turns) - len(refused)))
        ((most, number),) = Counter(returned).most_common(1) or [(0, 0)]
        if number > 1:
            raise StationFailed(
                f"{self.station} of {self._run.pipeline}: two partitions of its result have the _id {most}; the row of "
                "one went on, that of the other was refused. With rowwise=True a result has each _id once"
            )

    def _publish(self, written: Sequence[Written], batch: Batch, name: str) -> None:
        """End all turns of the batch and push what was staged, in one transaction."""
        causes: dict[int, BaseException] = {}
        for one in written:
            causes |= {id: InvalidOutcome(why) for id, why in one.failed.items()}
        turns = [
            Turn(receipt, _DONE, self._group(batch, receipt.id))
            for receipt in batch.lent.receipts
            if receipt.id not in causes
        ]
        parts = {one.part: one.entries for one in written if one.entries}
        publish = self._run.database.bulk.publish
        try:
            self._patiently(lambda: publish(name, parts, turns, once=name, keep=self._queue.keeping))
        except BatchRefused as refused:
            text = "%s of %s: %d messages of a batch were ours no more; it is carried out again without them"
            LOG.warning(text, self.station, self._run.pipeline, len(refused.refused))
            raise Tainted from refused
        except StoreUnavailable:
            raise
        except DuerowError as error:
            raise BatchFailed(error) from error
        self.count(Tally(settled=len(turns)))
        self._run.database.meter.ended(self.station.name, len(turns))
        self._settle_failed(batch, causes)

    def _group(self, batch: Batch, id: int) -> tuple[str, str] | None:
        group = batch.lent.groups.get(id)
        return None if group is None else (self.station.name, group)

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Return the database's answer; wait for it while it is away, as long as the tasks do."""
        return patiently(ask, OUTAGE, self._run.stop.wait)


_DONE: Final = Committed()
_DROPPED: Final = Committed(dropped=True)

_TYPES: Final = {
    "_id": "long",
    "_priority": "int",
    HOPS_COLUMN: "int",
    "_due": "timestamp",
    **dict.fromkeys(("_queue", "_error", PAYLOAD, "_key", "_group", "_headers"), "string"),
}


def _column(name: str, there: bool) -> Column:
    from pyspark.sql import functions

    return functions.col(name) if there else functions.lit(None)


def _done(tally: Tally) -> Tally:
    """Return what a task did, without what the driver has counted as claimed."""
    return Tally(0, tally.settled, tally.failed, tally.buried, tally.released, tally.refused)


def _nothing(frame: Any) -> Any:
    """What a station's function is in the executors, which never call it."""
    return frame
