"""How a batch reaches its table: a message delivers it, in an executor, as many times as it takes.

Each table records the names of the batches that it has, in the transaction or commit that adds a batch. So a message
that is delivered again changes nothing, and its turn ends as done.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from duerow.errors import InvalidOutcome, shown
from duerow.message import Draft, Message
from duerow.payload.encoding import Cipher
from duerow.pipeline.table import Delivery, TableSink, as_delivered
from duerow.settlement import DONE, Bury, Commit, Retry, Settlement
from duerow.spark.tables import database, lakes
from duerow.spark.tables.compaction import compacted
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.manifest import Manifest, TableEntry
from duerow.spark.tables.write import RowChunk

COMPACT: Final = "compact"
"""The key of a compaction, so that there is at most one; and the field that asks for it."""


@dataclass(frozen=True)
class Deliverer(Delivery):
    """Carries out deliveries."""

    def turn(self, message: Message, sealing: Cipher | None) -> Settlement | Retry:
        """Add a batch to the table; return how its message ends."""
        payload, sink = message.payload, self.sink
        try:
            if sink.format == "jdbc":
                return _insert(sink, msgspec.convert(payload, RowChunk))
            if isinstance(payload, dict) and payload.get(COMPACT) is True:
                return _compact(sink)
            made = msgspec.convert(payload, TableEntry)
        except msgspec.ValidationError as error:
            return Bury(InvalidOutcome(f"{sink}: {shown(payload, 200)} is not one of its batches: {error}"))
        again = message.created_at if message.attempts > 1 else None
        return _bring(sink, made, again)


def deliverer(delivery: Delivery) -> Deliverer:
    """Return the station that carries out deliveries."""
    return Deliverer(**as_delivered(delivery))


def _insert(sink: TableSink, chunk: RowChunk) -> Settlement:
    """Insert rows; if the table refuses them, split them in halves, until the row at fault is buried alone."""
    try:
        database.insert_once(sink, chunk)
    except database.RowsRefused as refused:
        if len(chunk.rows) == 1:
            return Bury(refused)
        if not database.divide_once(sink, chunk):
            return DONE
        return Commit(then=tuple(_draft(sink, half) for half in chunk.halves()))
    return DONE


def _bring(sink: TableSink, made: TableEntry, again: datetime | None) -> Settlement:
    if sink.format == "delta":
        lakes.add_to_delta(sink, made)
    elif sink.format == "iceberg":
        try:
            lakes.add_to_iceberg(sink, made, again)
        except InvalidOutcome as unsure:
            return Bury(unsure)
    else:
        manifest = _manifest(str(sink.path))
        manifest.add(made)
        if sink.compact is not None and not made.replaces and len(manifest.names()) > sink.compact:
            return Commit(then=(_draft(sink, {COMPACT: True}),))
    return DONE


def _compact(sink: TableSink) -> Settlement:
    made = compacted(Folder(str(sink.path)))
    return DONE if made is None else Commit(then=(_draft(sink, made),))


def _draft(sink: TableSink, payload: Any) -> Draft:
    of_compaction = not isinstance(payload, RowChunk)
    return Draft(msgspec.to_builtins(payload), key=COMPACT if of_compaction else None, queue=sink.batches)


@lru_cache(maxsize=16)
def _manifest(path: str) -> Manifest:
    return Manifest(Folder(path))
