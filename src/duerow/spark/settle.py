"""End the turns of messages that a stream reserved, as the rows that were made from them say.

Each row names its message by id and token. The message either moves to another queue, with the payload, key, due time,
headers, group and priority in the row, or it is done. The receipt is the fence: a repeated or duplicate task finds the
turn ended and changes nothing. Therefore each message must have exactly one row; a second row is an error.
"""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
from msgspec import UNSET
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import LongType, StringType, StructType

from duerow.errors import CodecError, ConfigurationError, InvalidMessage, InvalidOutcome
from duerow.message import ON_DUPLICATE, OnDuplicate, check_on_duplicate, check_queue_name
from duerow.payload import codec
from duerow.payload.codec import Encoded
from duerow.payload.encoding import AS_STORED, Payloads, is_quiet, sealed_of, shown_failure
from duerow.queue.mapping import message
from duerow.reservation import BareReservation
from duerow.settlement import DONE, Move, Settlement
from duerow.spark.columns import MESSAGE, header_text
from duerow.spark.conflict_retry import outlast
from duerow.spark.options import Reach, SourceOptions
from duerow.spark.rows import ROWS_PER_WRITE, Rows, check_types, read_text
from duerow.store import Query, Record
from duerow.sync.database import Database

LOG: Final = logging.getLogger("duerow.spark")

KNOWN: Final = frozenset({"queue", "to", "done", "on_duplicate"})

CHANGES: Final = ("payload", "key", "due", "headers", "group", "priority", "to")
"""The columns that change a message; the stream's other columns are ignored."""


def asks_to_settle(options: Mapping[str, str], schema: StructType) -> bool:
    """Return whether the rows end turns, because they are messages that a stream reserved."""
    return bool({"to", "done"} & {name.lower() for name in options}) or "to" in schema.names


@dataclass(frozen=True)
class Settled(WriterCommitMessage):
    """What a task reports: the ids of the messages whose turns it ended, and of those that it no longer held."""

    ended: bytes
    refused: bytes


@dataclass(frozen=True)
class SettleJob:
    """The instructions for ending turns; they are sent to every task.

    Attributes:
        reach: how tasks reach the database.
        names: the columns of the rows.
        as_text: whether the payload is already JSON text.
        queue: the queue of the messages; None: each row names it.
        to: the queue to which they move; None: the column `to` names it, and null means done.
        done: whether all messages are done.
        on_duplicate: what to do if a live message in the target queue has the key.
    """

    reach: Reach
    names: tuple[str, ...]
    as_text: bool
    queue: str | None
    to: str | None
    done: bool
    on_duplicate: OnDuplicate

    def settle(self, batches: Iterable[pa.RecordBatch]) -> Settled:
        """End the turns of a partition.

        Raises:
            InvalidMessage: a row is invalid; InvalidOutcome: a message has two rows. Nothing was changed.
        """
        database = self.reach.database
        rows = Rows(database, (*CHANGES, "id", "token", "queue"), self.as_text, None, True)
        found = [row for batch in batches for row in rows.values(batch)]
        _check_single(row["id"] for row in found)
        ended, refused = array("q"), array("q")
        quiet = is_quiet(database.encryption)
        for name, some in _by_queue(found, self.queue).items():
            queue = database.as_defined(name)
            for start in range(0, len(some), ROWS_PER_WRITE):
                chunk = {row["id"]: row for row in some[start : start + ROWS_PER_WRITE]}
                pairs = [*self._pairs(database, name, chunk)]
                lost = {one.receipt.id: one.error for one in outlast(partial(queue.settle, pairs))}
                for id_, error in lost.items():
                    LOG.warning(
                        "message %s in queue %r was not settled: %s", id_, name, shown_failure(error, quiet).message
                    )
                done = {reservation.message.id for reservation, _ in pairs} - lost.keys()
                ended.extend(sorted(done))
                refused.extend(sorted(chunk.keys() - done))
        return Settled(ended.tobytes(), refused.tobytes())

    def _pairs(
        self, database: Database, queue: str, rows: Mapping[int, Mapping[str, Any]]
    ) -> Iterator[tuple[BareReservation, Settlement]]:
        """Yield the messages that are still lent under the tokens in the rows, each with how its turn ends."""
        query = Query(queue, ids=tuple(rows), by_id=True, limit=len(rows))
        for record in database.run(lambda: database.store.messages.find(query)):
            row = rows[record.id]
            if record.token == row["token"] and record.leased_until is not None:
                leased = BareReservation(message(record, AS_STORED), record.leased_until, sealed=sealed_of(record))
                yield leased, self._end(database, record, row)

    def _end(self, database: Database, record: Record, row: Mapping[str, Any]) -> Settlement:
        to = self.to or row.get("to")
        if self.done or to is None:
            return DONE
        return Move(
            check_queue_name(to),
            self._payload(database, record, row) if "payload" in row else UNSET,
            key=row.get("key", UNSET),
            headers=_changed_headers(record, row.get("headers")),
            due=row.get("due"),
            on_duplicate=self.on_duplicate,
            group=row.get("group", UNSET),
            priority=record.priority if row.get("priority") is None else row["priority"],
        )

    def _payload(self, database: Database, record: Record, row: Mapping[str, Any]) -> Any:
        """Return the row's payload; UNSET if it is the message's own payload, which then keeps its kind."""
        if not self.as_text:
            return row["payload"]
        kept = Encoded(record.kind, record.payload)
        if database.encryption is not None and record.kind.endswith(codec.SEALED):
            kept = Payloads(record.queue, None, database.encryption).opened(record)
        if row["payload"] in (kept.text, record.payload):
            return UNSET
        try:
            return read_text(row["payload"])
        except CodecError as error:
            raise InvalidMessage(f"message {record.id} cannot be sent on: {error}") from error


class StreamSettleWriter(DataSourceStreamArrowWriter):
    """Ends the turns of a stream's messages, partition by partition.

    Args:
        ending: how to end them.
    """

    def __init__(self, ending: SettleJob) -> None:
        self._ending = ending

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Settled:
        """End the turns of a partition."""
        return self._ending.settle(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # the name that Spark uses
        """Check that each message had exactly one row."""
        check_settled(messages)


class BatchSettleWriter(DataSourceArrowWriter):
    """Like StreamSettleWriter, for `foreachBatch`, where a batch of a stream is an ordinary frame."""

    def __init__(self, ending: SettleJob) -> None:
        self._ending = ending

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Settled:
        """End the turns of a partition."""
        return self._ending.settle(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Check that each message had exactly one row."""
        check_settled(messages)


def settle_job(options: Mapping[str, str], schema: StructType) -> SettleJob:
    """Return the instructions for ending turns.

    Raises:
        ConfigurationError: an option or a column is invalid.
    """
    asked = SourceOptions(options, KNOWN)
    names = schema.names
    for name in ("id", "token"):
        if name not in names or not isinstance(schema[name].dataType, LongType):
            raise ConfigurationError(
                f"to send on or finish messages that a stream has lent, their column {name} (bigint) must reach "
                "the sink; without the options to and done, and without a column to, rows are pushed as new messages"
            )
    if unknown := [name for name in names if name not in (*MESSAGE, *CHANGES)]:
        raise ConfigurationError(
            f"unknown column {', '.join(unknown)}; the columns that settle a message are {', '.join(CHANGES)}"
        )
    to, done, queue = asked.text("to"), asked.flag("done"), asked.queue()
    if (to is not None) + done + ("to" in names) != 1:
        raise ConfigurationError(
            "give exactly one of the option to, the option done and a column to, which say how to settle the messages"
        )
    if queue is None and "queue" not in names:
        raise ConfigurationError(
            "name the queue that lent the messages, with the option queue or the stream's own column"
        )
    check_types(schema)
    mode = check_on_duplicate(asked.one_of("on_duplicate", ("reject", *ON_DUPLICATE)))
    reach = asked.reach()
    with reach.planning():
        pass
    as_text = "payload" in names and isinstance(schema["payload"].dataType, StringType)
    to = None if to is None else check_queue_name(to)
    return SettleJob(reach, tuple(names), as_text, queue, to, done, mode)


def check_settled(messages: Iterable[WriterCommitMessage | None]) -> None:
    """Log refused messages; raise InvalidOutcome if one was refused because another row had ended its turn."""
    said = [one for one in messages if isinstance(one, Settled)]
    ended, refused = (
        {id_ for one in said for id_ in array("q", getattr(one, which))} for which in ("ended", "refused")
    )
    if refused:
        LOG.warning("%d messages of %d were no longer leased, and were not settled", len(refused), len(ended | refused))
    if twice := sorted(ended & refused):
        raise InvalidOutcome(
            f"messages {', '.join(map(str, twice[:10]))} have rows in several partitions; the first row sent each "
            "message on and the others were lost: a message that goes on has one row; for several use a frame station"
        )


def _check_single(ids: Iterable[int | None]) -> None:
    counts = Counter(ids)
    if None in counts:
        raise InvalidMessage("a row has no id, so it is not a message that a stream has lent; nothing was changed")
    if twice := [id_ for id_, count in counts.items() if count > 1]:
        raise InvalidOutcome(
            f"message {twice[0]} has {counts[twice[0]]} rows, and {len(twice)} messages have more than one: a message "
            "that goes on has one row; for several use a frame station. Nothing was changed"
        )


def _by_queue(rows: Iterable[dict[str, Any]], queue: str | None) -> dict[str, list[dict[str, Any]]]:
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(queue or row["queue"], []).append(row)
    return parts


def _changed_headers(record: Record, wanted: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the headers in the row that differ from the message's; headers that it does not name are kept."""
    if wanted is None:
        return None
    had = {name: header_text(value) for name, value in codec.decode_headers(record.headers).items()}
    changed = {name: value for name, value in wanted.items() if had.get(name) != header_text(value)}
    return changed or None
