"""The station for batches: a data frame of messages in, a data frame of messages out. It runs only on Spark.

There is no I/O and no Spark here: `duerow.spark.frames` does the work and asks this module what each row means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Final

import msgspec
from msgspec import UNSET

from duerow.errors import CodecError, ConfigurationError, InvalidOutcome, shown
from duerow.lineage import OF_BATCH, made_of
from duerow.message import Message, check_group, check_key, check_moment, check_priority
from duerow.payload.codec import Encoded, decode_headers, encode_headers
from duerow.pipeline.elsewhere import Target, elsewhere
from duerow.pipeline.graph import Node
from duerow.pipeline.stations import Station, check_name
from duerow.queue.mapping import HOPS
from duerow.settlement import Move, Rollback, Settlement
from duerow.store import MessageHeader, Moved

BATCH: Final = 25_000
"""The maximum number of messages in a batch."""

BATCH_LEASE: Final = timedelta(minutes=10)
"""How long a batch is reserved; the driver extends the lease while it works."""

GIVEN: Final = ("_id", "_key", "_group", "_priority", "_headers", "_attempts", "_created_at")
"""The columns that a frame of messages has in addition to the payload columns."""

SHORT: Final = 100
"""Headers of at most this many characters are likely to be shared by many messages, so they are cached."""

TAKEN: Final = ("_id", "_key", "_group", "_priority", "_headers", "_due", "_queue", "_error")
"""The columns of a result with a special meaning; every other column, except those of `GIVEN`, is payload."""

RESERVED: Final = frozenset({*GIVEN, *TAKEN})


class Row(msgspec.Struct, frozen=True, gc=False):
    """What a row of a result says about its message; a field is UNSET if the result lacks that column.

    Attributes:
        id: the message that the row is made from; None: it is made from several, or from none.
        way: the value of `_queue`.
        error: why the message failed; None: it did not fail.
        payload: the new payload, as JSON text; UNSET: the result has no payload, so the message keeps its own.
        key: the new key.
        group: the new group.
        priority: the new priority.
        headers: the new headers, as JSON text.
        due: when the message is due in the target queue; None: at once.
        hops: the largest number of queues that any message behind this row has gone through; used if the headers do not
            contain it.
    """

    id: int | None
    way: str | None
    error: str | None
    payload: Any
    key: Any
    group: Any
    priority: Any
    headers: Any
    due: datetime | None
    hops: int = 0


@dataclass(frozen=True)
class Frame(Station):
    """A batch of messages in, messages out: the function receives a Spark data frame and returns another one.

    The driver calls the function once for each batch, and Spark's tasks act on the result. The frame has a column for
    each field of the payloads (or `payload`, their JSON text, if neither a type nor a schema is given) and `_id`,
    `_key`, `_group`, `_priority`, `_headers` (JSON text), `_attempts` and `_created_at`.

    Each row of the result is a message. Its columns form the payload (or the column `payload` is the payload), except
    for these: `_queue` chooses the target if `to` names several queues, `_due` is the due time there, `_key`, `_group`,
    `_priority` and `_headers` are the new message's, and text in `_error` is the reason why message `_id` failed; the
    retry policy then decides.

    By default the batch ends as a unit: one transaction marks all of its messages as done and pushes all rows of the
    result as new messages. With `rowwise=True` each message moves on by itself, whatever happens to the rest of the
    batch: the result must then contain each `_id` at most once, and messages whose ids are missing from it are dropped.

    Args:
        name: see Station.
        function: turns a data frame into another data frame.
        to: the target queue; or several, chosen by a column `_queue`: a list, or a mapping of labels to queues.
        rowwise: see above; for functions that treat each row independently.
        schema: the columns of the payloads, as a Spark StructType or a DDL string; default: the fields of the declared
            type `payload`.
        batch: the maximum number of messages in a batch.
        lease: how long a batch is reserved; the driver extends the lease while it works.
        observe: aggregates of the result, by name, which Spark computes as it writes the rows: columns such as
            `functions.sum("total")`, or SQL text such as "sum(total)". Their values for each finished batch are logged,
            and are in `Tally.observed` and in telemetry.
        timeout: how long Spark may work on a batch. After that its jobs are cancelled and the batch fails with
            `TimedOut`: it is halved until the message that takes too long is isolated. Default: no limit.
        retry: see Station. A batch that fails is halved until the faulty message fails alone.
        payload: see Station.
        upgrades: see Station.
        rate: see Station.
        history: see Station.
        remember_keys: see Station.

    Raises:
        ConfigurationError: as for Station; or `to`, `schema`, `batch` or `observe` is invalid.
    """

    needs_spark: ClassVar[bool] = True
    given: ClassVar[str] = "frame"
    to: Target | Sequence[Target] | Mapping[str, Target]
    _: KW_ONLY
    rowwise: bool = False
    schema: Any = None
    batch: int = BATCH
    lease: timedelta = BATCH_LEASE
    observe: Mapping[str, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "to", self._read_to())
        if not isinstance(self.rowwise, bool):
            raise ConfigurationError(f"{self}: rowwise must be True or False, not {shown(self.rowwise)}")
        if type(self.batch) is not int or self.batch < 1:
            raise ConfigurationError(f"{self}: batch must be an integer of at least 1, not {shown(self.batch)}")
        schema = self.schema
        if schema is not None and not (isinstance(schema, str) and schema.strip()) and not hasattr(schema, "fields"):
            raise ConfigurationError(
                f"{self}: schema must be a Spark StructType, or text such as 'id long, at date', not {shown(schema)}"
            )
        self._check_observe()

    def _check_observe(self) -> None:
        given: object = self.observe
        if given is None:
            return
        if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) and name for name in given):
            raise ConfigurationError(
                f"{self}: observe must map names to aggregates, such as {{'total': 'sum(amount)'}}, not {shown(given)}"
            )
        for name, of in given.items():
            # A Column, which cannot be imported without Spark, is known by its method.
            if not (isinstance(of, str) and of.strip()) and not callable(getattr(of, "alias", None)):
                raise ConfigurationError(
                    f"{self}: observe[{name!r}] must be an aggregate Column or SQL text, not {shown(of)}"
                )

    def _read_to(self) -> str | Mapping[str, str]:
        to: object = self.to
        if isinstance(to, str) or elsewhere(to) is not None:
            name: str = self._named({"": to})[""]
            check_name(f"the target of {self}", name)
            return name
        if isinstance(to, Mapping):
            ways = self._named(to)
        elif isinstance(to, Iterable):
            names = list(self._named({str(place): one for place, one in enumerate(to)}).values())
            ways = {queue: queue for queue in names if isinstance(queue, str)}
            if len(ways) < len(names):
                ways = {}
        else:
            ways = {}
        if not ways:
            raise ConfigurationError(
                f"{self}: `to` must be a queue, a list of queues or a mapping of labels to queues, not {shown(to)}"
            )
        for label, queue in ways.items():
            if not isinstance(label, str):
                raise ConfigurationError(f"{self}: a label must be text, not {shown(label)}")
            check_name(f"the target of {self} for {shown(label)}", queue)
        return ways

    @property
    def ways(self) -> Mapping[str, str]:
        """The only way out, or one way for each value that `_queue` may have."""
        return {"": self.to} if isinstance(self.to, str) else dict(self.to)  # type: ignore[arg-type]  # as checked

    def node(self) -> Node:
        """Return the station as it appears in a drawing."""
        note = f"{'row by row' if self.rowwise else 'whole'}, batches of {self.batch}"
        payload = "" if self.payload is None else self.payload.__name__
        return msgspec.structs.replace(super().node(), note=note, payload=payload)

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("a frame station handles batches, on Spark")

    # What a row means.

    def target(self, row: Row) -> str:
        """Return the target queue of a row; raise InvalidOutcome if the row names none of the station's queues."""
        if row.way is None and isinstance(self.to, str):
            return self.to
        ways, way = self.ways, row.way
        if way is not None and way in ways:
            return ways[way]
        if len(ways) == 1:
            (only,) = ways.values()
            if way in (None, only):
                return only
        known = ", ".join(map(repr, ways.values() if isinstance(self.to, str) else ways))
        of = "a row" if row.id is None else f"the row of message {row.id}"
        raise InvalidOutcome(f"{self}: {of} has the _queue {shown(way)}, which is not one of {known}")

    def row_settlement(
        self, message: Message, row: Row, payload: Encoded | Exception | None, max_hops: int
    ) -> Settlement:
        """Return how the turn of a message ends, given its row in the result.

        Args:
            message: the message; its payload may be missing.
            row: what the result says about it.
            payload: its new payload, or the reason why it has none; None: it keeps its payload.
            max_hops: the maximum number of queues that a message may go through.
        """
        try:
            outcome = self._moved(message, row, payload)
        except Exception as error:
            outcome = error
        return self.concluded(message, outcome, max_hops)

    def _moved(self, message: Message, row: Row, payload: Encoded | Exception | None) -> object:
        if row.error is not None:
            return Rollback(None, row.error)
        to = self.target(row)
        if isinstance(payload, Exception):
            return payload
        return Move(
            to,
            UNSET if payload is None else payload,
            key=row.key,
            headers=None if row.headers is UNSET else changes(message.headers, row.headers),
            due=row.due,
            group=row.group,
            priority=row.priority,
        )

    def passed_on(
        self, header: MessageHeader, row: Row, to: str, payload: Encoded | None, max_hops: int
    ) -> Moved | None:
        """Return the move of a message, or None if its row asks for anything unusual: then call `row_settlement`.

        If this returns a move, `row_settlement` would return the same one; this is a fast path for thousands of rows.

        Args:
            header: the message, without its payload.
            row: what the result says about the message, which must not have failed.
            to: the row's target.
            payload: its new payload; None: it keeps its payload.
            max_hops: see `row_settlement`.

        Raises:
            InvalidMessage: a value in the row is invalid.
        """
        if row.headers is not UNSET and row.headers != header.headers:
            return None
        short = header.headers is None or len(header.headers) <= SHORT
        headers = (_hops_of_many if short else _hops_counted)(header.headers, max_hops)
        if headers is None:
            return None
        return Moved(
            to,
            None if payload is None else payload.text,
            None if payload is None else payload.kind,
            header.key if row.key is UNSET or row.key == header.key else check_key(row.key),
            headers,
            None if row.due is None else check_moment("due", row.due),
            None,
            "reject",
            header.group if row.group is UNSET or row.group == header.group else check_group(row.group),
            header.priority
            if row.priority is UNSET or row.priority == header.priority
            else check_priority(row.priority),
        )


def _hops_counted(text: str | None, max_hops: int) -> str | None:
    """Return the headers with one more move counted; None if that exceeds the limit or the headers are invalid."""
    try:
        headers = decode_headers(text)
        count = headers.get(HOPS, 0)
        if type(count) is not int or count >= max_hops:
            return None
        return encode_headers({**headers, HOPS: count + 1})
    except CodecError:
        return None


_hops_of_many = lru_cache(maxsize=256)(_hops_counted)


def changes(before: Mapping[str, Any], text: str | None) -> dict[str, Any] | None:
    """Return the changes that turn the headers `before` into the headers in `text`; the count of moves is kept."""
    if text is None and not before:
        return None  # the most common case
    after = decode_headers(text)
    gone = {name: None for name in before if name not in after and name != HOPS}
    return {**{name: value for name, value in after.items() if name != HOPS}, **gone}


def offspring(row: Row, claim: str) -> dict[str, Any]:
    """Return the headers of a staged result row, which is made from one message or from the batch of a claim."""
    headers = {} if row.headers is UNSET else decode_headers(row.headers)
    moved = headers.get(HOPS, row.hops)
    headers = {**headers, OF_BATCH: claim} if row.id is None else made_of(row.id, headers)
    return {**headers, HOPS: (moved if isinstance(moved, int) else row.hops) + 1}
