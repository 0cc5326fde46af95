"""The station for whole batches: a data frame of messages in, a data frame of messages out. It runs on Spark alone.

No I/O and no Spark here: `duerow.spark.frames` carries it out, and asks this module what a row of the result means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Final

import msgspec
from msgspec import UNSET

from duerow.errors import CodecError, ConfigurationError, InvalidOutcome
from duerow.lineage import OF_BATCH, made_of
from duerow.message import Message, check_group, check_key, check_moment, check_priority
from duerow.payload.codec import Encoded, decode_headers, encode_headers
from duerow.pipeline.graph import Node
from duerow.pipeline.stations import Station, check_name
from duerow.queue.mapping import HOPS
from duerow.settlement import Move, Rollback, Settlement
from duerow.store import MessageHeader, Moved

BATCH: Final = 25_000
"""Messages of one batch, at most."""

BATCH_LEASE: Final = timedelta(minutes=10)
"""For how long a batch is reserved; the driver extends it while it works."""

GIVEN: Final = ("_id", "_key", "_group", "_priority", "_headers", "_attempts", "_created_at")
"""The columns that a frame of messages has besides those of the payloads."""

SHORT: Final = 100
"""Characters of headers up to which those of one message are likely to be those of many."""

TAKEN: Final = ("_id", "_key", "_group", "_priority", "_headers", "_due", "_queue", "_error")
"""The columns of a result that say something of its messages; all others but those given are payload."""

RESERVED: Final = frozenset({*GIVEN, *TAKEN})


class Row(msgspec.Struct, frozen=True, gc=False):
    """What a row of a result says of its message; UNSET where the result has no such column.

    Attributes:
        id: the message that it is made of; None: of several, or of none.
        way: what `_queue` says.
        error: why the message failed; None: it did not.
        payload: what goes on, as JSON text; UNSET: the result has no payload, so that of the message stays.
        key: the key that it has there.
        group: the group that it is in there.
        priority: the priority that it has there.
        headers: the headers that it has there, as JSON text.
        due: when it is due there; None: at once.
        hops: how many queues those messages have gone through at most that it may be made of, where no header says so.
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
    """A batch of messages in, messages out: the function is handed a Spark data frame of them and returns another one.

    It is called in the driver, once for each batch, and what it returns is carried out by Spark's tasks. The frame has
    a column for each field of the payloads (or `payload`, their JSON text, where neither a type nor a schema is given)
    and `_id`, `_key`, `_group`, `_priority`, `_headers` (JSON text), `_attempts` and `_created_at`.

    Each row of the result is a message. Its columns are the payload (or one called `payload` is), apart from `_queue`,
    where it goes if `to` names several queues, `_due`, when it is due there, `_key`, `_group`, `_priority` and
    `_headers`, and `_error`: text there is why the message `_id` failed, for which the retry policy decides.

    By default the batch ends as a whole: in one transaction all of its messages are done and all rows of the result
    are new messages. With `rowwise=True` each message moves on by itself, whatever happens to the rest of the batch:
    the result must then have each `_id` at most once, and a message whose id it does not have is dropped.

    Args:
        name: see Station.
        function: makes a data frame of a data frame.
        to: the queue to go to; or several, among which a column `_queue` chooses: a list, or labels with queues.
        rowwise: see above; for functions that look at each row by itself.
        schema: the columns of the payloads, as a StructType of Spark's or in the words of its DDL; default: those of
            the declared type `payload`.
        batch: messages of one batch at most.
        lease: how long a batch is reserved; the driver extends it while it works.
        retry: see Station. A batch that fails is halved until the guilty message fails alone.
        payload: see Station.
        rate: see Station.
        history: see Station.
        remember_keys: see Station.

    Raises:
        ConfigurationError: as for Station; or `to`, `schema` or `batch` cannot be.
    """

    given: ClassVar[str] = "frame"
    to: str | Sequence[str] | Mapping[str, str]
    _: KW_ONLY
    rowwise: bool = False
    schema: Any = None
    batch: int = BATCH
    lease: timedelta = BATCH_LEASE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "to", self._read_to())
        if not isinstance(self.rowwise, bool):
            raise ConfigurationError(f"{self}: rowwise is {self.rowwise!r:.80}; say True or False")
        if type(self.batch) is not int or self.batch < 1:
            raise ConfigurationError(f"{self}: batch is {self.batch!r:.80}; it is an integer of at least 1")
        schema = self.schema
        if schema is not None and not (isinstance(schema, str) and schema.strip()) and not hasattr(schema, "fields"):
            raise ConfigurationError(
                f"{self}: schema is {schema!r:.80}; give a StructType of Spark's, or text such as 'id long, at date'"
            )

    def _read_to(self) -> str | Mapping[str, str]:
        to: object = self.to
        if isinstance(to, str):
            check_name(f"the target of {self}", to)
            return to
        if isinstance(to, Mapping):
            ways = dict(to)
        elif isinstance(to, Iterable):
            ways = {queue: queue for queue in to}
        else:
            ways = {}
        if not ways:
            raise ConfigurationError(
                f"{self}: `to` is {to!r:.80}; name a queue, list several, or give labels with queues"
            )
        for label, queue in ways.items():
            if not isinstance(label, str):
                raise ConfigurationError(f"{self}: a label is text, not {label!r:.80}")
            check_name(f"the target of {self} for {label!r}", queue)
        return ways

    @property
    def ways(self) -> Mapping[str, str]:
        """The one way on, or one for each value that `_queue` may have."""
        return {"": self.to} if isinstance(self.to, str) else dict(self.to)  # type: ignore[arg-type]  # as checked

    def node(self) -> Node:
        """Return the station as a drawing has it."""
        note = f"{'row by row' if self.rowwise else 'whole'}, batches of {self.batch}"
        return msgspec.structs.replace(super().node(), note=note)

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("a frame station is handed batches, on Spark")

    # What a row means.

    def target(self, row: Row) -> str:
        """Return the queue that a row goes to; raise InvalidOutcome if it names none of the station's."""
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
        raise InvalidOutcome(f"{self}: {of} has the _queue {way!r:.80}, which is none of {known}")

    def row_settlement(
        self, message: Message, row: Row, payload: Encoded | Exception | None, max_hops: int
    ) -> Settlement:
        """Return how the turn of a message ends of which there is this row.

        Args:
            message: the message; its payload may be missing.
            row: what the result says of it.
            payload: its new payload, or why there is none; None: it keeps the one that it has.
            max_hops: how many queues a message may go through.
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
        self, outline: MessageHeader, row: Row, to: str, payload: Encoded | None, max_hops: int
    ) -> Moved | None:
        """Return the move of a message whose row asks for no more than most do; None: `row_settlement` has to tell.

        Both say the same where this says something: this is for rows that come by the thousand.

        Args:
            outline: the message.
            row: what the result says of it, and that it did not fail.
            to: the row's target.
            payload: its new payload; None: it keeps the one that it has.
            max_hops: see `row_settlement`.

        Raises:
            InvalidMessage: what the row says cannot be.
        """
        if row.headers is not UNSET and row.headers != outline.headers:
            return None
        short = outline.headers is None or len(outline.headers) <= SHORT
        headers = (_hops_of_many if short else _hops_counted)(outline.headers, max_hops)
        if headers is None:
            return None
        return Moved(
            to,
            None if payload is None else payload.text,
            None if payload is None else payload.kind,
            outline.key if row.key is UNSET or row.key == outline.key else check_key(row.key),
            headers,
            None if row.due is None else check_moment("due", row.due),
            None,
            "reject",
            outline.group if row.group is UNSET or row.group == outline.group else check_group(row.group),
            outline.priority
            if row.priority is UNSET or row.priority == outline.priority
            else check_priority(row.priority),
        )


def _hops_counted(text: str | None, max_hops: int) -> str | None:
    """Return headers with one move more; None if that is one too many, or they are not what they should be."""
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
    """Return what has to be changed of headers so that they are those of a text; the count of moves is kept."""
    if text is None and not before:
        return None  # as most are
    after = decode_headers(text)
    gone = {name: None for name in before if name not in after and name != HOPS}
    return {**{name: value for name, value in after.items() if name != HOPS}, **gone}


def offspring(row: Row, claim: str) -> dict[str, Any]:
    """Return the headers of a message that is a row of a staged result, made of one, or of the batch of a claim."""
    headers = {} if row.headers is UNSET else decode_headers(row.headers)
    moved = headers.get(HOPS, row.hops)
    headers = {**headers, OF_BATCH: claim} if row.id is None else made_of(row.id, headers)
    return {**headers, HOPS: (moved if isinstance(moved, int) else row.hops) + 1}
