"""The driver's side of a frame station: lend a batch, pass it to the function as a frame, run the result as tasks.

The driver holds receipts, never payloads. If a job fails, the batch is halved until the faulty message is alone. A
mistake in the function itself shows in the plan and is raised, and the batch is given back.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
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
    TimedOut,
    shown,
)
from duerow.payload.encoding import UNREAD, is_quiet
from duerow.pipeline import Frame
from duerow.pipeline.frame import TAKEN
from duerow.queue import mapping
from duerow.reservation import BareReservation
from duerow.settlement import Bury, Rollback, Settlement
from duerow.spark import read, write
from duerow.spark.batch import Batch, Heartbeat, still_held
from duerow.spark.consumer import WORKER, Tally
from duerow.spark.frame_columns import check_columns, check_times, unfit
from duerow.spark.jobs import Job, SparkRun, pickled
from duerow.spark.observed import Observed, observed_text
from duerow.spark.payload_columns import HOPS_COLUMN, PAYLOAD, payload_columns, payload_text, with_columns
from duerow.spark.probe import last_line
from duerow.spark.read import Desk, read_task
from duerow.spark.schema import check_fits, frame_schema, schema_of
from duerow.spark.time_limit import TimeLimit
from duerow.spark.write import COLUMNS, FrameWriteJob, WriteTask, Written, open_task, packed, read_written, write_task
from duerow.store import Committed, Lease, Query, Turn
from duerow.store.consumer_id import new_claim
from duerow.worker.rounds import FrameRound, entered

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


T = TypeVar("T")

LOG: Final = logging.getLogger("duerow.spark")

SPARE: Final = 3
"""How many failures in a row, beyond those needed to find one faulty message, postpone a batch."""


class BatchFailed(Exception):
    """A batch failed.

    Attributes:
        cause: the reason.
    """

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause
        super().__init__(str(cause))


class Tainted(Exception):
    """Some leases of a batch were lost before it was published; the batch runs again without those messages."""


def called(station: Frame, frame: DataFrame) -> DataFrame:
    """Return the result of a station's function for a frame; raise if it can only be a mistake."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame

    try:
        result: object = station.function(frame)
        if isinstance(result, DataFrame):
            result.schema  # noqa: B018 - which Spark Connect finds out only when it is asked
    except (AnalysisException, ConfigurationError) as error:
        raise ConfigurationError(f"{station}: Spark cannot plan the result of its function: {error}") from error
    except Exception as error:
        raise BatchFailed(error) from error
    if not isinstance(result, DataFrame):
        raise ConfigurationError(f"{station}: its function returned {shown(result)}; it must return a Spark data frame")
    if result.isStreaming:
        raise ConfigurationError(f"{station}: its function returned a stream; it must return a batch data frame")
    return result


def expected_of(targets: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that target queues declare, for the queues that declare a type."""
    return {queue: schema_of(of) for queue, of in targets.items() if of is not None}


class FrameJob(Job):
    """Runs a frame station in rounds, one batch each."""

    station: Frame

    def __init__(self, run: SparkRun, station: Frame) -> None:
        super().__init__(run, station)
        self._queue = self.queue
        self._schema = frame_schema(station)
        check_times(self.station, self._run.spark, self._schema)
        types = {one.name: one.payload for one in run.pipeline.stations}
        self._targets = {queue: types.get(queue) for queue in station.targets}
        self._expected = expected_of(self._targets)
        without_function = replace(station, function=_nothing, observe=None)
        self._desk = Desk(
            run.access,
            station.name,
            pickled(station, (without_function, self._schema, self._targets)),
            run.pipeline.max_hops,
        )
        self._counts_hops = not station.rowwise and run.pipeline.is_on_a_loop(station)
        self._lending, self._opened, self._ahead = threading.Lock(), False, False
        self._now = threading.local()  # the round of this thread: two may be running

    @property
    def rounds(self) -> int:
        """Two if more than one batch is due: the second is reserved while tasks work on the first."""
        return 2 if self._ahead else 1

    def count(self, tally: Tally) -> None:
        """Add to the tally, and to the failures of this thread's round."""
        super().count(tally)
        if (under_way := getattr(self._now, "round", None)) is not None:
            under_way.failed += tally.failed + tally.buried

    def round(self) -> None:
        """Reserve and run one batch."""
        self._open()
        self.look_for_unknown()
        batch = self._lend()
        if not len(batch):
            return
        left, since = [batch], time.monotonic()
        self._now.round = FrameRound(self.station.name, len(batch))
        with entered(self._now.round), Heartbeat(self._queue, batch, self.station.lease):
            try:
                self._work_off(left)
            except BaseException as error:
                self._give_back(left, error)
                raise
        self._run.database.metrics.handled(self.station.name, [time.monotonic() - since], len(batch))
        self._write_counts()
        LOG.info("%s of %s: %s", self.station, self._run.pipeline, self.tally)

    def _write_counts(self) -> None:
        """Write the counts for `stats`; if that fails, they are written later, because the batch is finished."""
        try:
            self._run.database.write_counts()
        except StoreUnavailable as error:
            LOG.warning("%s of %s: cannot write its counts now: %s", self.station, self._run.pipeline, error)

    def _open(self) -> None:
        """Raise ConfigurationError, before any message is lent, if the executors cannot load what the station needs."""
        if self._opened:
            return
        places = self._run.parallelism
        try:
            with self._run.labelled(self.station, ": check of its types"):
                self._run.spark.range(0, places, 1, places).mapInArrow(open_task(self._desk), "id long").collect()
        except Exception as error:
            raise ConfigurationError(
                f"{self.station}: the executors cannot load what it needs: {last_line(error)}; the payload types "
                "of its own queue and of its target queues must be in modules that are installed there, or in the "
                "program itself"
            ) from error
        self._opened = True

    def _lend(self) -> Batch:
        limit, claim = self.station.batch, new_claim(WORKER)
        with self._lending:
            room = self._room()
            if room is not None:
                limit = min(limit, room)
            leased = self._patiently(lambda: self._queue.bulk.lend(limit, consumer=claim)) if limit else Lease([], {})
            self._spend(len(leased.receipts))
        self._ahead = len(leased.receipts) == limit and room is None
        self.count(Tally(claimed=len(leased.receipts), buried=len(leased.buried)))
        return Batch(claim, leased)

    def _give_back(self, left: Sequence[Batch], error: BaseException | None = None) -> None:
        """Release the messages of these batches that are still held; if that fails, they are due after their leases."""
        for batch in left:
            for piece in batch.pieces():
                try:
                    refused = self._queue.bulk.give_back(Lease(piece, batch.leased.groups))
                except StoreUnavailable as gone:
                    if error is None:
                        raise
                    error.add_note(f"messages of {self.station} stay leased until their lease ends: {gone}")
                    return
                self.count(Tally(released=len(piece) - len(refused)))

    # Halving.

    def _work_off(self, left: list[Batch]) -> None:
        """Run the batches of a stack, last first; replace a batch that fails by its halves.

        If a message fails alone, its attempt has failed, and its retry policy decides. After so many failures in a row
        that no single message can be at fault, all remaining messages fail and are retried after their delays.
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
        """Raise StationFailed if Spark cannot be reached, because in that case no message is at fault."""
        if self._run.stop.is_set():
            return
        try:
            self._run.spark.range(1).collect()
        except Exception as error:
            raise StationFailed(
                f"{self.station} of {self._run.pipeline}: Spark cannot be reached: {last_line(error)}"
            ) from failed

    def _tell(self, batch: Batch, failed: BatchFailed) -> None:
        what = "message" if len(batch) == 1 else f"batch of {len(batch)}, which is halved"
        quiet = is_quiet(self._run.database.encryption)
        why = type(failed.cause).__name__ if quiet else f"{type(failed.cause).__name__}: {failed}"[:500]
        LOG.warning("%s of %s: failed on a %s: %s", self.station, self._run.pipeline, what, why)

    def _fail(self, batch: Batch, cause: BaseException) -> None:
        """End the turns of a batch as failed; the retry policy decides for each message."""
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
        """Return the settlements of failed messages that are still held."""
        find, max_hops = self._run.database.store.messages.find, self._run.pipeline.max_hops
        tokens = {receipt.id: receipt.token for receipt in batch.leased.receipts}
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
        """Run a batch within its time limit."""
        name = f"{batch.claim}.{secrets.token_hex(4)}"
        timeout = self.station.timeout
        with TimeLimit(self._run.spark, name, timeout) as limit:
            try:
                self._compute(batch, name)
            except BatchFailed as failed:
                if not limit.passed:
                    raise
                why = f"{self.station}: timed out after {timeout}: Spark had not finished a batch of {len(batch)}"
                raise BatchFailed(TimedOut(why)) from failed

    def _compute(self, batch: Batch, name: str) -> None:
        """Have the function plan the result, and tasks compute and write it."""
        with self._run.labelled(self.station, f": {len(batch)} messages", name):
            messages = self._messages(batch)
            observed = Observed(self.station)
            result = observed.on(called(self.station, with_columns(messages, self._schema)))
            try:
                task, rows = self._written(result, messages, batch, name)
                try:
                    written = read_written(rows.mapInArrow(self._task(task), write.SCHEMA).collect())
                except PicklingError as error:
                    raise ConfigurationError(
                        f"{self.station}: its function's plan cannot be sent to the executors: {error}"
                    ) from error
                except Exception as error:
                    raise BatchFailed(StationFailed(last_line(error))) from error
                self._check(written, batch)
                (self._drop if self.station.rowwise else self._publish)(written, batch, name)
                self._tell_observed(observed.values())
            except (BatchFailed, Tainted):
                if not self.station.rowwise:
                    self._patiently(lambda: self._run.database.bulk.discard(name))
                raise

    def _tell_observed(self, values: dict[str, Any]) -> None:
        """Report the observed values of a finished batch."""
        if not values:
            return
        self._now.round.observed = values
        with self._counting:
            self.tally.observed = values
        text = ", ".join(values) if is_quiet(self._run.database.encryption) else observed_text(values)
        LOG.info("%s of %s: observed %s", self.station, self._run.pipeline, text)

    def _messages(self, batch: Batch) -> DataFrame:
        ranges = batch.ranges(self._run.parallelism)
        places = self._run.spark.range(0, len(ranges), 1, len(ranges))
        return places.mapInArrow(read_task(self._desk, batch.claim, ranges), read.SCHEMA)

    def _written(
        self, result: DataFrame, messages: DataFrame, batch: Batch, name: str
    ) -> tuple[FrameWriteJob, DataFrame]:
        """Return the result of `_outgoing`; raise ConfigurationError if Spark cannot write the columns as messages."""
        from pyspark.errors import AnalysisException

        try:
            task, rows = self._outgoing(result, messages, batch, name)
            rows.schema  # noqa: B018 - which Spark Connect finds out only when it is asked
        except AnalysisException as error:
            raise unfit(self.station, f"cannot be written as messages: {error}") from error
        return task, rows

    def _outgoing(
        self, result: DataFrame, messages: DataFrame, batch: Batch, name: str
    ) -> tuple[FrameWriteJob, DataFrame]:
        """Return the instructions for the writing tasks, and the result that they get."""
        from pyspark.sql import functions

        check_columns(self.station, result)
        has = set(TAKEN) & set(result.columns)
        text: Column = functions.lit(None)
        written: Any = None
        if payload_columns(result.schema):
            text, written = payload_text(result)
            check_times(self.station, self._run.spark, written)
            has.add(PAYLOAD)
            for queue, expected in self._expected.items():
                check_fits(self.station, queue, expected, written)
        if self._counts_hops:  # even if the result has headers, which may not be those of a message
            moved = functions.get_json_object("_headers", "$.hops").cast("int")
            result = result.crossJoin(functions.broadcast(messages.agg(functions.max(moved).alias(HOPS_COLUMN))))
            has.add(HOPS_COLUMN)
        columns = [text if name == PAYLOAD else _column(name, name in has) for name in COLUMNS]
        named = [column.cast(_TYPES[name]).alias(name) for name, column in zip(COLUMNS, columns, strict=True)]
        receipts = packed(batch) if self.station.rowwise else b""
        return FrameWriteJob(self._desk, name, frozenset(has), written, receipts), result.select(*named)

    def _task(self, writing: FrameWriteJob) -> WriteTask:
        """Return the function that writes a partition of a result."""
        return write_task(writing)

    def _check(self, written: Sequence[Written], batch: Batch) -> None:
        """Raise if the tasks report anything wrong with the result."""
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
                    f"{self.station}: its result has the _id {min(strange)}, which no message of the batch has"
                )
            )
        if both := failed & named:
            raise BatchFailed(
                InvalidOutcome(f"{self.station}: message {min(both)} has rows with an _error and rows without")
            )

    def _drop(self, written: Sequence[Written], batch: Batch, name: str) -> None:
        """End the turns of messages without a row in the result, and check that no message has two rows."""
        returned = [id for one in written for id in one.ids]
        dropped = batch.of(set(batch.ids).difference(returned))
        for piece in dropped.pieces():
            turns = [Turn(receipt, _DROPPED, self._group(batch, receipt.id)) for receipt in piece]
            refused = self._patiently(lambda turns=turns: self._queue.bulk.end_turns(turns))  # type: ignore[misc]
            self.count(Tally(settled=len(turns) - len(refused)))
            if refused:
                self._look_closer()
        ((most, number),) = Counter(returned).most_common(1) or [(0, 0)]
        if number > 1:
            raise StationFailed(
                f"{self.station} of {self._run.pipeline}: two partitions of its result have the _id {most}; the row in "
                "one went on, the row in the other was refused. With rowwise=True, each _id may appear only once"
            )

    def _publish(self, written: Sequence[Written], batch: Batch, name: str) -> None:
        """End all turns of the batch and push what was staged, in one transaction."""
        causes: dict[int, BaseException] = {}
        for one in written:
            causes |= {id: InvalidOutcome(why) for id, why in one.failed.items()}
        turns = [
            Turn(receipt, _DONE, self._group(batch, receipt.id))
            for receipt in batch.leased.receipts
            if receipt.id not in causes
        ]
        parts = {one.part: one.entries for one in written if one.entries}
        publish = self._run.database.bulk.publish
        try:
            self._patiently(lambda: publish(name, parts, turns, once=name, keep=self._queue.keeping))
        except BatchRefused as refused:
            text = "%s of %s: %d messages of a batch are no longer ours; running the batch again without them"
            LOG.warning(text, self.station, self._run.pipeline, len(refused.refused))
            self._look_closer()
            raise Tainted from refused
        except StoreUnavailable:
            raise
        except DuerowError as error:
            raise BatchFailed(error) from error
        self.count(Tally(settled=len(turns)))
        self._run.database.metrics.ended(self.station.name, len(turns))
        self._settle_failed(batch, causes)

    def _look_closer(self) -> None:
        """Handle lost messages of a batch: tasks may have given them back because they do not know their kinds."""
        if self.reads_by_kind:
            self.met_unknown()

    @property
    def reads_by_kind(self) -> bool:
        """Whether its tasks leave messages of unknown kinds; without a declared type they read JSON of any kind."""
        return self.station.payload is not None

    def _group(self, batch: Batch, id: int) -> tuple[str, str] | None:
        group = batch.leased.groups.get(id)
        return None if group is None else (self.station.name, group)


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
    """Return what a task did, without the claimed messages, which the driver counts."""
    return Tally(0, tally.settled, tally.failed, tally.buried, tally.released, tally.refused)


def _nothing(frame: Any) -> Any:
    """Stands for a station's function in the executors, which never call it."""
    return frame
