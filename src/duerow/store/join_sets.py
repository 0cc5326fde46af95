"""What a join stores: the parts of an incomplete set, and the message that a complete set becomes.

Both are JSON text. A part's text contains its payload as stored, encrypted or not, so that it comes back unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from duerow.errors import CodecError, DuerowError
from duerow.lineage import PART_OF
from duerow.message import Message, Scalar
from duerow.payload import codec
from duerow.payload.encoding import PayloadReader, StoredPayload
from duerow.store import Committed, End, Entry, Joined, Record

CORRELATION: Final = "correlation"
PARTS: Final = "parts"
"""The members of the payload of a set's message; until the set is closed, it has only the correlation."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message while it is part of a set; fields as in `Record`."""

    id: int
    queue: str
    kind: str
    payload: msgspec.Raw
    created_at: datetime
    first_due_at: datetime
    attempts: int
    key: str | None = None
    headers: dict[str, Scalar] = {}
    group: str | None = None
    priority: int = 0


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Part).decode


def part_text(record: Record) -> str:
    """Return the text as which a set stores a message."""
    part = Part(
        record.id,
        record.queue,
        record.kind,
        msgspec.Raw(record.payload.encode()),
        record.created_at,
        record.first_due_at,
        record.attempts,
        record.key,
        codec.decode_headers(record.headers),
        record.group,
        record.priority,
    )
    return _encode(part).decode()


def part_headers(headers: str | None, set_id: int) -> str | None:
    """Return the headers that history keeps for a part: its own, plus the id of its set's message.

    Raises:
        CodecError: its own headers cannot be read.
    """
    return codec.encode_headers({**codec.decode_headers(headers), PART_OF: set_id}, limited=False)


def open_text(correlation: str) -> str:
    """Return the payload of a set's message while the set is open."""
    return _encode({CORRELATION: correlation}).decode()


def whole_text(correlation: str, parts: Sequence[str]) -> str:
    """Return the payload of the message that a set becomes; the parts must be in the order of their ids."""
    return f'{{"{CORRELATION}":{_encode(correlation).decode()},"{PARTS}":[{",".join(parts)}]}}'


def as_message(text: str | bytes, reader: PayloadReader) -> Message:
    """Return a part as the message that was handed out before it became a part.

    Raises:
        CodecError: the text is not a part, or its payload cannot be decoded.
    """
    try:
        part = _decode(text)
    except codec.UNREADABLE as error:
        raise CodecError(f"a part of a set cannot be read back: {error}") from error
    return Message(
        part.id,
        part.queue,
        reader.decode(StoredPayload(part.queue, part.key, part.headers, part.kind, bytes(part.payload).decode())),
        part.kind,
        part.key,
        part.headers,
        part.group,
        part.priority,
        "new",
        part.first_due_at,
        part.first_due_at,
        part.attempts,
        0,
        None,
        None,
        part.created_at,
        None,
        None,
    )


def messages_of(payload: Any, reader: PayloadReader) -> list[Message] | None:
    """Return the parts of a set, ordered by id, from the payload of its message; None if the set is open.

    Raises:
        CodecError: the payload is not a set's, or a part cannot be read.
    """
    if not isinstance(payload, dict) or not isinstance(payload.get(CORRELATION), str):
        raise CodecError("this is not the message of a set", quotes=False)
    parts = payload.get(PARTS)
    if parts is None:
        return None
    if not isinstance(parts, list):
        raise CodecError(f"the parts of a set must be a list, not {type(parts).__name__}", quotes=False)
    return [as_message(_encode(part), reader) for part in parts]


def is_complete(join: Joined, size: int, texts: Callable[[], Sequence[str]]) -> bool:
    """Return whether a set of this many parts is complete.

    Args:
        join: the turn of the part that joins last.
        size: the number of parts, including that one.
        texts: returns the parts in the order of their ids; called only if there is a predicate.

    Raises:
        DuerowError: the predicate raised it.
    """
    if join.complete is not None:
        return join.complete(texts())
    return join.count is not None and size >= join.count


class Grown(msgspec.Struct, frozen=True):
    """A set with one more part.

    Attributes:
        parts: the texts of all its parts, by the ids of their messages.
        complete: whether the set is now complete.
    """

    parts: dict[int, str]
    complete: bool


def grown(join: Joined, record: Record, parts: Mapping[int, str]) -> Grown | End | DuerowError:
    """Return the set with a message added, or else how the message's turn ends or why it is refused."""
    if len(parts) >= join.limit:
        return join.full
    now = {**parts, record.id: part_text(record)}
    try:
        return Grown(now, is_complete(join, len(now), lambda: in_order(now)))
    except DuerowError as error:
        return error


def in_order(parts: Mapping[int, str]) -> list[str]:
    """Return the texts of parts in the order of their ids."""
    return [parts[id_] for id_ in sorted(parts)]


def late_end(join: Joined, closed_until: datetime | None, now: datetime) -> End | None:
    """Return how the turn of a late part ends; None if its set is not remembered as complete."""
    return join.late if closed_until is not None and closed_until > now else None


def first_entry(join: Joined) -> Entry:
    """Return the entry for a set that begins with this part."""
    return Entry(join.sets, None, codec.JSON, open_text(join.correlation), None, None, join.within)


def joined(join: Joined, record: Record, set_id: int) -> Committed:
    """Return how the turn of a message that became a part ends."""
    return Committed(moved_to=join.sets, headers=part_headers(record.headers, set_id))
