"""How executors read a batch: each task reads a range of ids as rows of a data frame.

A message is buried here, with the reason, if it cannot be read, if its payload does not fit the columns, or if it has
gone through too many queues. It is then in no frame and fails alone. A message whose encryption key is missing on this
executor is postponed. A message of a kind that the station's type does not know is given back unchanged.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import CodecError, InvalidOutcome, KeyMissing
from duerow.payload import codec
from duerow.payload.encoding import Payloads
from duerow.payload.types import LARGE, Declared
from duerow.pipeline import Frame
from duerow.queue import mapping
from duerow.queue.mapping import HOPS
from duerow.reservation import BareReservation, Receipt
from duerow.settlement import Bury, Release, Settlement
from duerow.spark.batch import Range
from duerow.spark.consumer import Tally, TaskSettler
from duerow.spark.fast_check import glance
from duerow.spark.gc_freeze import keep_what_is_imported
from duerow.spark.task import Access, database_of
from duerow.spark.value_checks import check_text, checker, needs_check
from duerow.store import Lease, Record
from duerow.sync.database import Database
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from duerow.sync.queue import Queue

MESSAGES_PER_READ: Final = 5_000
"""The maximum number of messages that are read at once."""

SCHEMA: Final = (
    "_id long, _key string, _group string, _priority int, _headers string, _attempts int, _created_at timestamp, "
    "payload string"
)


@dataclass(frozen=True)
class Desk:
    """What all batches of a frame station share; built once per process.

    Attributes:
        access: how to reach the queues.
        name: the station's name.
        pickled: the station without its function, the columns of its payloads, and the types that its targets declare,
            by queue.
        max_hops: how many queues a message may go through.
    """

    access: Access
    name: str
    pickled: bytes = field(compare=False, repr=False)
    max_hops: int = field(compare=False)

    def unpacked(self) -> tuple[Frame, Any, Mapping[str, Any]]:
        """Return the unpickled content."""
        found: tuple[Frame, Any, Mapping[str, Any]] = pickle.loads(self.pickled)  # noqa: S301 - from the driver
        return found


def read_task(desk: Desk, claim: str, ranges: Sequence[Range]) -> Callable[[Iterable[Any]], Iterator[RecordBatch]]:
    """Return the function for `mapInArrow`, whose input rows are the numbers of the ranges that it reads."""

    def read(batches: Iterable[Any]) -> Iterator[RecordBatch]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        for number in numbers:
            yield from reader(desk).read(claim, *ranges[number])
        keep_what_is_imported()

    read.__name__ = desk.name
    return read


@lru_cache(maxsize=16)
def reader(desk: Desk) -> BatchReader:
    """Return this process's reader for a station."""
    station, schema, _ = desk.unpacked()
    return BatchReader(station, database_of(desk.access), schema, desk.max_hops)


class BatchReader:
    """Reads the messages that a claim holds.

    Args:
        station: the station whose batches it reads.
        database: the database of the station's queue.
        schema: the columns of the payloads; None: one column of text.
        max_hops: how many queues a message may go through.
    """

    def __init__(self, station: Frame, database: Database, schema: Any, max_hops: int) -> None:
        self._station, self._max_hops = station, max_hops
        self._queue: Queue[Any] = station.queue(database)
        self._payloads = Payloads(station.name, None, database.encryption)
        self._settler = TaskSettler(station, database, MESSAGES_PER_READ)
        of: Any = station.payload
        self._declared: Declared[Any] | None = None if of is None else Declared(of, station.upgrades)
        given = station.schema is not None
        always = schema is not None and (given or needs_check(schema))
        self._check = None if schema is None else checker(schema, zoned=not given)
        self._fits = glance(schema) if schema is not None and always else None

    def read(self, claim: str, first: int, last: int) -> Iterator[RecordBatch]:
        """Yield the messages with ids from `first` to `last` that the claim still holds, as columns of SCHEMA."""
        while first <= last:
            start = first
            records = self._settler.patiently(
                partial(self._queue.bulk.leased_range, claim, start, last, MESSAGES_PER_READ)
            )
            if records:
                yield self._columns(records)
            if len(records) < MESSAGES_PER_READ:
                return
            first = records[-1].id + 1

    def _columns(self, records: list[Record]) -> RecordBatch:
        records = self._known(records)
        texts: list[str | None] = []
        refused: list[tuple[BareReservation, Settlement]] = []
        for record in records:
            try:
                texts.append(self._text(record))
            except KeyMissing:
                texts.append(None)
                refused.append((mapping.put_off(record), Release()))
            except (CodecError, InvalidOutcome) as error:
                texts.append(None)
                assert record.leased_until is not None  # noqa: S101 - it is held
                refused.append((BareReservation(mapping.readable(record), record.leased_until), Bury(error)))
        if refused:
            now = time.monotonic()
            self._settler.settle([Ended(Attempt(one, now, now), how) for one, how in refused], Tally())
            self._settler.write_counts()
            records = [record for record, text in zip(records, texts, strict=True) if text is not None]
            texts = [text for text in texts if text is not None]
        return _arrow(records, texts)

    def _known(self, records: list[Record]) -> list[Record]:
        """Return the messages of kinds that the station's type knows; give the others back to other consumers."""
        if self._declared is None:
            return records
        knows = self._queue.knows_kind
        others = [one for one in records if one.damage is None and not knows(one.kind)]
        if not others:
            return records
        receipts = [Receipt(one.id, one.token) for one in others]
        lent = Lease(receipts, {one.id: one.group for one in others if one.group is not None})
        self._settler.patiently(lambda: self._queue.bulk.give_back(lent))
        return [one for one in records if one.damage is not None or knows(one.kind)]

    def _text(self, record: Record) -> str:
        """Return a payload as JSON text; raise CodecError if it cannot be read or does not fit the columns."""
        if record.damage is not None:
            raise CodecError(f"message {record.id} cannot be handed out: {record.damage}")
        opened = self._payloads.opened(record)
        kind, text = opened.kind, opened.text
        if self._declared is not None:
            value = self._declared.decode(kind, text)
            if kind != self._declared.kind or self._station.upgrades:  # upgrades may have changed its structure
                text = self._declared.encode(value).text
        if self._check is not None and (LARGE in text or (self._fits is not None and not self._fits(text))):
            check_text(self._check, text)
        if record.headers is not None and not self._station.rowwise:
            self._check_hops(record)
        return text

    def _check_hops(self, record: Record) -> None:
        hops = codec.decode_headers(record.headers).get(HOPS, 0)
        if isinstance(hops, int) and hops >= self._max_hops:
            raise InvalidOutcome(
                f"{self._station}, message {record.id}: it has already moved {hops} times, and its pipeline has "
                f"max_hops={self._max_hops}"
            )


def _arrow(records: Sequence[Record], texts: Sequence[str | None]) -> RecordBatch:
    import pyarrow as pa

    columns: dict[str, tuple[Any, Any]] = {
        "_id": ([record.id for record in records], pa.int64()),
        "_key": ([record.key for record in records], pa.string()),
        "_group": ([record.group for record in records], pa.string()),
        "_priority": ([record.priority for record in records], pa.int32()),
        "_headers": ([record.headers for record in records], pa.string()),
        "_attempts": ([record.attempts for record in records], pa.int32()),
        "_created_at": ([record.created_at for record in records], pa.timestamp("us", tz="UTC")),
        "payload": (texts, pa.string()),
    }
    return pa.RecordBatch.from_arrays([pa.array(*column) for column in columns.values()], names=list(columns))
