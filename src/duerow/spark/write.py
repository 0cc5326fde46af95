"""How executors write the result of a frame station: row by row, each with its message's turn, or staged.

The driver gets counts, ids and the reasons for failures, never a payload.
"""

from __future__ import annotations

import logging
import secrets
import time
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from duerow.errors import InvalidMessage, InvalidOutcome, StoreUnavailable
from duerow.payload import codec
from duerow.payload.codec import JSON, MAX_PAYLOAD_BYTES, Encoded
from duerow.payload.encoding import UNREAD, Payloads, sealed_of
from duerow.payload.types import Declared
from duerow.pipeline import Frame
from duerow.pipeline.frame import Row, offspring
from duerow.queue import mapping
from duerow.reservation import BareReservation, Receipt
from duerow.spark.batch import Batch
from duerow.spark.consumer import Tally, TaskSettler
from duerow.spark.gc_freeze import keep_what_is_imported
from duerow.spark.read import Desk, reader
from duerow.spark.schema import may_be_absent, schema_of, without_absent
from duerow.spark.task import database_of
from duerow.spark.value_checks import check_text, checker
from duerow.store import Entry, MessageHeader, Moved, Query, Record, Refused, Turn
from duerow.sync.database import Database
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from duerow.sync.queue import Queue

LOG: Final = logging.getLogger("duerow.spark")

ROWS_PER_TRANSACTION: Final = 2_000
"""The maximum number of turns that end, or messages that are staged, in a transaction."""

COLUMNS: Final = ("_id", "_queue", "_error", "payload", "_key", "_group", "_priority", "_headers", "_due", "_hops")
"""The columns of a result before it is written: the fields of `Row`, in this order."""

Encode = Callable[[str, Any], Encoded | None]
"""A function that makes a payload for a queue from the text in a row; None: the message keeps its own payload."""

WriteTask = Callable[[Iterable[Any]], "Iterator[RecordBatch]"]
"""A function for `mapInArrow` that writes a partition and yields one row of SCHEMA."""

SCHEMA: Final = "written string"
"""The columns that a task returns to the driver."""


class WrittenFile(msgspec.Struct, frozen=True):
    """A file that a task has written for a table.

    Attributes:
        path: its name inside the table's folder.
        rows: how many rows it has.
        partition: the values of the columns that partition the table, as text.
    """

    path: str
    rows: int
    partition: dict[str, str | None]


class Written(msgspec.Struct):
    """What a task reports.

    Attributes:
        tally: the turns that it ended.
        part: the name under which it staged rows; "" if it staged none.
        entries: how many rows it staged.
        ids: the messages to which its rows belong, if the rows say so.
        failed: why messages failed, by id, if the rows say so.
        problem: why the batch as a whole fails; None if it does not.
        files: the files that it wrote for a table.
        unreachable: why it could not reach the folder of the table at the moment; None if it could.
    """

    tally: Tally = msgspec.field(default_factory=Tally)
    part: str = ""
    entries: int = 0
    ids: list[int] = []
    failed: dict[int, str] = {}
    problem: str | None = None
    files: list[WrittenFile] = []
    unreachable: str | None = None


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Written).decode


def read_written(rows: Iterable[Any]) -> list[Written]:
    """Return what the tasks reported, from the rows that the driver gets."""
    return [_decode(row["written"]) for row in rows]


class BadRow(Exception):
    """An invalid row that belongs to no single message, so the batch fails."""


@dataclass(frozen=True)
class FrameWriteJob:
    """The driver's instructions for a task that writes.

    Attributes:
        desk: the station whose result is written.
        batch: the claim id and the attempt, which also name what is staged.
        has: the columns that the result has.
        written: the type of the payloads; None if they are text that the function wrote.
        receipts: the packed receipts of the batch, if it is written row by row.
    """

    desk: Desk
    batch: str
    has: frozenset[str]
    written: Any
    receipts: bytes = field(default=b"", repr=False)

    @property
    def claim(self) -> str:
        """The claim under which the batch was reserved."""
        return self.batch.rpartition(".")[0]


def write_task(writing: FrameWriteJob) -> WriteTask:
    """Return the function for `mapInArrow` that writes a partition of a result."""

    def write(batches: Iterable[Any]) -> Iterator[RecordBatch]:
        yield _written(batches, writing)

    write.__name__ = f"{writing.desk.name}, written"
    return write


def _written(batches: Iterable[Any], writing: FrameWriteJob) -> RecordBatch:
    """Write a partition; return the report. It is separate because all that a task's function names is pickled."""
    from pyarrow import RecordBatch

    writer = _writer(writing.desk)
    written = (writer.row_by_row if writer.station.rowwise else writer.staged)(_rows(batches, writing), writing)
    keep_what_is_imported()
    return RecordBatch.from_pydict({"written": [_encode(written).decode()]})


def packed(batch: Batch) -> bytes:
    """Return the receipts of a batch as bytes; they compress well, because tokens are similar and ids ascend."""
    receipts = batch.leased.receipts
    tokens = array("q", [receipt.token for receipt in receipts])
    return zlib.compress(batch.ids.tobytes() + tokens.tobytes(), 1)


@lru_cache(maxsize=4)
def unpacked(receipts: bytes) -> dict[int, int]:
    """Return the tokens of a batch by id."""
    both = array("q")
    both.frombytes(zlib.decompress(receipts))
    middle = len(both) // 2
    return dict(zip(both[:middle], both[middle:], strict=True))


def open_task(desk: Desk) -> Callable[[Iterable[Any]], Iterator[RecordBatch]]:
    """Return a function for `mapInArrow` that only opens the resources for reading and writing, as a check."""

    def opened(batches: Iterable[Any]) -> Iterator[RecordBatch]:
        for batch in batches:
            open_desk(desk)
            yield batch

    opened.__name__ = f"{desk.name}, opened"
    return opened


def open_desk(desk: Desk) -> None:
    """Open the resources with which this process reads and writes."""
    reader(desk)
    _writer(desk)


def _rows(batches: Iterable[Any], writing: FrameWriteJob) -> Iterator[Row]:
    """Yield the rows of a partition."""
    for batch in batches:
        columns = [_values(batch, place, name, writing.has) for place, name in enumerate(COLUMNS)]
        ids, ways, errors, payloads, keys, groups, priorities, headers, dues, hops = columns
        if "_priority" in writing.has:
            priorities = (0 if one is None else one for one in priorities)
        hops = (one or 0 for one in hops) if "_hops" in writing.has else repeat(0)
        for row in zip(ids, ways, errors, payloads, keys, groups, priorities, headers, dues, hops):  # noqa: B905
            yield Row(*row)


_PLAIN: Final = frozenset({"_id", "_queue", "_error", "_due"})
"""Columns in which null means the same as a missing column."""


def _values(batch: Any, place: int, name: str, has: frozenset[str]) -> Any:
    if name in has:
        return batch.column(place).to_pylist()
    return repeat(None if name in _PLAIN else UNSET, batch.num_rows)


@lru_cache(maxsize=16)
def _writer(desk: Desk) -> BatchWriter:
    """Return this process's writer for a station."""
    station, _, targets = desk.unpacked()
    return BatchWriter(station, database_of(desk.access), targets, desk.max_hops)


class BatchWriter:
    """Writes the results of a station.

    Args:
        station: the station.
        database: the database to which they go.
        targets: the declared type of each target queue; None if it declares none.
        max_hops: how many queues a message may go through.
    """

    def __init__(self, station: Frame, database: Database, targets: Mapping[str, Any], max_hops: int) -> None:
        self.station, self._database, self._max_hops = station, database, max_hops
        self._queue: Queue[Any] = station.queue(database)
        self._settler = TaskSettler(station, database, ROWS_PER_TRANSACTION)
        self._payloads = Payloads(station.name, sealing=database.encryption)
        self._targets = {queue: None if of is None else WriteTarget(of) for queue, of in targets.items()}

    # Row by row.

    def row_by_row(self, rows: Iterable[Row], writing: FrameWriteJob) -> Written:
        """End the turn of each row's message; change nothing if two rows belong to the same message."""
        tokens = unpacked(writing.receipts)
        found: dict[int, Row] = {}
        for row in rows:
            if (problem := self._mistaken(row, found, tokens)) is not None:
                return Written(problem=problem)
            found[row.id] = row  # type: ignore[index]  # it has one
        written = Written(ids=list(found))
        each = list(found.values())
        encode = self._encoder(writing)
        for start in range(0, len(each), ROWS_PER_TRANSACTION):
            chunk = each[start : start + ROWS_PER_TRANSACTION]
            if others := self._pass_on(chunk, tokens, encode, written.tally):
                self._end(others, tokens, encode, written.tally)
        self._settler.write_counts()
        return written

    def _mistaken(self, row: Row, found: Mapping[int, Row], tokens: Mapping[int, int]) -> str | None:
        if row.id is None:
            return f"{self.station}: a row of its result has no _id; with rowwise=True each row needs its message's _id"
        if row.id not in tokens:
            return f"{self.station}: its result has the _id {row.id}, which no message of the batch has"
        if row.id in found:
            return (
                f"{self.station}: its result has the _id {row.id} twice; with rowwise=True each message has one row at "
                "most; leave rowwise out for several"
            )
        return None

    def _pass_on(self, rows: Sequence[Row], tokens: Mapping[int, int], encode: Encode, tally: Tally) -> Sequence[Row]:
        """Move the messages whose rows ask only for that; return the rows of the others, and of refused moves."""
        receipts = [Receipt(row.id, tokens[row.id]) for row in rows if row.id is not None]
        headers = {one.id: one for one in self._settler.patiently(lambda: self._queue.bulk.message_headers(receipts))}
        turns: list[Turn] = []
        others: list[Row] = []
        for row, receipt in zip(rows, receipts, strict=True):
            header = headers.get(receipt.id)
            move = None if header is None or row.error is not None else self._moved(header, row, encode)
            if header is None or move is None:
                others.append(row)
            else:
                group = None if header.group is None else (self.station.name, header.group)
                turns.append(Turn(receipt, move, group))
        if not turns:
            return rows
        try:
            refused = self._settler.patiently(lambda: self._end_turns(turns))
        except StoreUnavailable:
            raise
        except Exception:  # one of them is at fault, and no message was changed
            return rows
        tally.settled += len(turns) - len(refused)
        if refused:
            lost = {one.receipt.id for one in refused}
            others += [row for row in rows if row.id in lost]
        return others

    def _end_turns(self, turns: list[Turn]) -> Sequence[Refused]:
        """End turns. If the answer is lost, they have most likely ended; otherwise their messages are due again."""
        try:
            return self._queue.bulk.end_turns(turns)
        except StoreUnavailable as error:
            if error.outcome != "unknown":
                raise
            LOG.warning("%s: cannot tell whether %d messages were settled: %s", self.station, len(turns), error)
            return []

    def _moved(self, header: MessageHeader, row: Row, encode: Encode) -> Moved | None:
        """Return a row's move; None if it needs closer inspection, or is impossible."""
        try:
            to = self.station.target(row)
            payload = encode(to, row.payload)
            if payload is None and self._database.encryption is not None:
                return None  # it may have to be encrypted again, so its payload has to be read
            moved = self.station.passed_on(header, row, to, payload, self._max_hops)
            return None if moved is None else self._sealed(moved)
        except (InvalidMessage, InvalidOutcome):
            return None

    def _sealed(self, moved: Moved) -> Moved:
        """Return a move with its payload encrypted, if payloads are encrypted."""
        if moved.payload is None or moved.kind is None or self._database.encryption is None:
            return moved
        key = self._payloads.key(moved.key)
        sealed = self._payloads.seal(Encoded(moved.kind, moved.payload), moved.to, key, moved.headers)
        return msgspec.structs.replace(moved, key=key, payload=sealed.text, kind=sealed.kind)

    def _end(self, rows: Sequence[Row], tokens: Mapping[int, int], encode: Encode, tally: Tally) -> None:
        """End turns one by one, as their rows say; turns of messages that are no longer held are refused."""
        records = self._records(sorted(row.id for row in rows if row.id is not None), tokens)
        now = time.monotonic()
        ended: list[Ended] = []
        for row in rows:
            record = records.get(row.id)  # type: ignore[arg-type]  # it has one
            if record is None:
                tally.refused += 1
                continue
            message = mapping.readable(record, UNREAD)
            payload: Encoded | Exception | None
            try:
                payload = None if row.error is not None else encode(self.station.target(row), row.payload)
            except (InvalidMessage, InvalidOutcome) as error:
                payload = error
            settlement = self.station.row_settlement(message, row, payload, self._max_hops)
            assert record.leased_until is not None  # noqa: S101 - it is ours
            ended.append(
                Ended(
                    Attempt(BareReservation(message, record.leased_until, sealed=sealed_of(record)), now, now),
                    settlement,
                )
            )
        if ended:
            self._settler.settle(ended, tally)

    def _records(self, ids: Sequence[int], tokens: Mapping[int, int]) -> dict[int, Record]:
        """Return the messages that are still held, by id."""
        query = Query(self.station.name, ids=tuple(ids), by_id=True, limit=len(ids))
        find = self._database.store.messages.find
        found = self._settler.patiently(lambda: self._database.run(lambda: find(query), None, len(ids)))
        return {record.id: record for record in found if record.token == tokens[record.id] and record.leased_by}

    # Staged.

    def staged(self, rows: Iterable[Row], writing: FrameWriteJob) -> Written:
        """Stage the rows under this attempt's name, for the driver to publish."""
        written = Written(part=secrets.token_hex(8))
        encode = self._encoder(writing)
        entries: list[Entry] = []
        try:
            for row in rows:
                try:
                    entries.append(self._entry(row, encode, writing.claim))
                except (InvalidMessage, InvalidOutcome, _Failed) as error:
                    if row.id is None:
                        raise BadRow(str(error)) from error
                    written.failed[row.id] = str(error)
                    continue
                if row.id is not None:
                    written.ids.append(row.id)
                if len(entries) == ROWS_PER_TRANSACTION:
                    self._stage(writing.batch, written, entries)
                    entries = []
        except BadRow as problem:
            return Written(problem=str(problem))
        self._stage(writing.batch, written, entries)
        return written

    def _stage(self, batch: str, written: Written, entries: Sequence[Entry]) -> None:
        if entries:
            self._settler.patiently(lambda: self._database.bulk.stage(batch, written.part, entries))
            written.entries += len(entries)

    def _entry(self, row: Row, encode: Encode, claim: str) -> Entry:
        if row.error is not None:
            raise _Failed(row.error)
        to = self.station.target(row)
        encoded = encode(to, row.payload)
        return mapping.entry(
            to,
            encoded,
            key=None if row.key is UNSET else row.key,
            due=row.due,
            headers=offspring(row, claim),
            group=None if row.group is UNSET else row.group,
            priority=0 if row.priority is UNSET else row.priority,
            payloads=self._payloads,
        )

    # Payloads.

    def _encoder(self, writing: FrameWriteJob) -> Encode:
        """Return a function that makes a payload for a queue from the text that Spark or the function wrote."""
        fits = None if writing.written is None else checker(writing.written)
        targets = self._targets

        def encode(queue: str, text: Any) -> Encoded | None:
            if text is UNSET:
                return None
            if text is None:
                raise InvalidOutcome(
                    f"{self.station}: a row of its result has no payload; JSON's null is the text 'null'"
                )
            clean = codec.encode(codec.decode(JSON, text)).text if fits is None else _checked(text, fits)
            target = targets[queue]
            return Encoded(JSON, clean) if target is None else target.encode(clean)

        return encode


class _Failed(Exception):
    """The content of `_error`."""


class WriteTarget:
    """The declared type of a target queue.

    Args:
        of: the declared type.
    """

    def __init__(self, of: Any) -> None:
        self._declared: Declared[Any] = Declared(of)
        schema = schema_of(of)
        self._schema = schema if may_be_absent(schema) else None

    def encode(self, text: str) -> Encoded:
        """Return JSON text as a payload of the declared type; raise CodecError if it does not fit."""
        if self._schema is not None:
            text = codec.encode(without_absent(codec.decode(JSON, text), self._schema)).text
        self._declared.decode(JSON, text)
        return Encoded(self._declared.kind, text)


def _checked(text: str, fits: Callable[[Any], str | None]) -> str:
    """Return text that Spark wrote from columns; raise CodecError if it cannot be a payload."""
    if '"NaN"' in text or 'Infinity"' in text:
        check_text(fits, text)  # numbers that JSON does not have, unless it is text
    if "\\u0000" in text or 4 * len(text) > MAX_PAYLOAD_BYTES:
        return codec.encode(codec.decode(JSON, text)).text
    return text
