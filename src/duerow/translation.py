"""Between the user's values and the store's: drafts to entries, records to messages, settlements to turns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from duerow import codec
from duerow.dead_letter import dead_letter as moved_to_dead_letters
from duerow.errors import CodecError, ConfigurationError, InvalidMessage, InvalidOutcome, shown
from duerow.message import (
    Draft,
    Failure,
    Message,
    Scalar,
    check_due,
    check_group,
    check_key,
    check_on_duplicate,
    check_priority,
    check_queue_name,
    check_span,
)
from duerow.parts import as_message
from duerow.payloads import PLAIN, Decode, Encode, Payloads
from duerow.reservation import Receipt, Reservation
from duerow.settlement import Bury, Close, Commit, Gather, Move, Release, Rollback, Settlement, failure, merged
from duerow.store import Buried, Closed, Committed, End, Entry, Joined, Moved, Record, Released, RolledBack, Turn

_COMMITTED: Final = Committed()


class DeadLetter(NamedTuple):
    """Where messages go that are given up, and what time it is."""

    queue: str
    now: datetime


HOPS: Final = "hops"
"""The header that counts how many queues a message has gone through."""


def entry(
    queue: str,
    payload: Any,
    key: str | None = None,
    due: datetime | None = None,
    delay: timedelta | None = None,
    headers: Mapping[str, Scalar] | None = None,
    group: str | None = None,
    priority: int = 0,
    max_bytes: int = codec.MAX_PAYLOAD_BYTES,
    encode: Encode = codec.encode,
) -> Entry:
    """Return a message to be pushed as the store wants it; raise InvalidMessage if a field is out of bounds."""
    if due is not None or delay is not None:
        due, delay = check_due(due, delay)
    encoded = encode(payload, max_bytes)
    return Entry(
        queue,
        None if key is None else check_key(key),
        encoded.kind,
        encoded.text,
        None if headers is None else codec.encode_headers(headers),
        due,
        delay,
        None if group is None else check_group(group),
        priority if priority == 0 and type(priority) is int else check_priority(priority),
    )


def draft_entry(
    draft: Draft, queue: str | None, max_bytes: int = codec.MAX_PAYLOAD_BYTES, encode: Encode = codec.encode
) -> Entry:
    """Return a draft as the store wants it, for `queue` unless it names its own; raise InvalidMessage otherwise."""
    if not isinstance(draft, Draft):
        raise InvalidMessage(
            f"{'commit(then=…)' if queue is None else 'push_many'} takes Drafts, not {type(draft).__name__}: "
            f"write Draft({shown(draft)})"
        )
    if queue is None:
        if draft.queue is None:
            raise InvalidMessage(f"a draft in commit(then=…) must say its queue: {shown(draft, 120)}")
        queue = check_queue_name(draft.queue)
    elif draft.queue not in (None, queue):
        raise InvalidMessage(f"a draft for queue {draft.queue!r} was pushed to queue {queue!r}; push it there")
    return entry(
        queue,
        draft.payload,
        draft.key,
        draft.due,
        draft.delay,
        draft.headers,
        draft.group,
        draft.priority,
        max_bytes,
        encode,
    )


def message(record: Record, decode: Decode = codec.decode) -> Message:
    """Return a stored message with its payload decoded; raise CodecError if it cannot be, or was damaged."""
    if record.damage is not None:
        raise CodecError(f"message {record.id} cannot be handed out: {record.damage}")
    return Message(
        record.id,
        record.queue,
        decode(record.kind, record.payload),
        record.kind,
        record.key,
        codec.decode_headers(record.headers),
        record.group,
        record.priority,
        record.status,
        record.due_at,
        record.first_due_at,
        record.attempts,
        record.token,
        record.leased_by,
        record.leased_until,
        record.created_at,
        record.last_attempt_at,
        codec.decode_failure(record.last_error),
    )


def readable(record: Record, decode: Decode = codec.decode) -> Message:
    """Return a stored message for people to look at: a payload that cannot be decoded is given as its stored text."""
    try:
        return message(record, decode)
    except CodecError:
        shown = msgspec.structs.replace(record, kind=codec.JSON, payload="null", headers=None, damage=None)
        return msgspec.structs.replace(message(shown), kind=record.kind, payload=record.payload)


def put_off(record: Record) -> Reservation:
    """Return what, released, gives a message back until its lease would have ended, with no attempt counted.

    For one whose key is missing here: another consumer may have it, and until then others are not held up.
    """
    assert record.leased_until is not None  # noqa: S101 - it was just reserved
    due_later = msgspec.structs.replace(readable(record), due_at=record.leased_until)
    return Reservation(due_later, record.leased_until)


def check_lent(reservation: object, queue: str, place: Hashable) -> None:
    """Raise ConfigurationError unless it is a reservation of this queue: a stranger's may have the same receipt.

    Args:
        reservation: what is to be settled.
        queue: the name of the queue that is to settle it.
        place: where that queue is, as `Connections.place` says.
    """
    if not isinstance(reservation, Reservation):
        raise ConfigurationError(f"only what reserve() gave can be settled, not {shown(reservation)}")
    message = reservation.message
    if message.queue != queue:
        raise ConfigurationError(
            f"message {message.id} was lent by queue {message.queue!r}, and queue {queue!r} was told to settle it; "
            "settle it there, or by the reservation's own methods"
        )
    lender = getattr(reservation, "queue", None)
    if lender is not None and lender.database.connections.place != place:
        raise ConfigurationError(
            f"message {message.id} was lent by queue {queue!r} of another database than the one that was told to "
            "settle it; settle it there, or by the reservation's own methods"
        )


def turn(
    reservation: Reservation,
    settlement: Settlement,
    dead_letter: DeadLetter | None = None,
    payloads: Payloads = PLAIN,
    history: int | None = None,
) -> Turn:
    """Return a reservation's end as the store wants it.

    Args:
        reservation: whose turn ends.
        settlement: how.
        dead_letter: where messages go that are given up, and the time; None: they stay where they are.
        payloads: how those of the message's queue are written and read.
        history: how many bytes a payload may have in the queue's history; None: it keeps none.

    Raises:
        InvalidMessage: a payload, header, key, queue, due time or delay in the settlement is out of bounds.
        InvalidOutcome: the settlement is none.
        ConfigurationError: the settlement asks for what the queue does not keep.
    """
    message = reservation.message
    return Turn(
        Receipt(message.id, message.token),
        _end(reservation, settlement, dead_letter, payloads, history),
        None if message.group is None else (message.queue, message.group),
    )


def done(message: Message) -> Turn:
    """Return the end of a message that is just done, which most are."""
    group = None if message.group is None else (message.queue, message.group)
    return Turn(Receipt(message.id, message.token), _COMMITTED, group)


def _end(
    reservation: Reservation,
    settlement: Settlement,
    dead_letter: DeadLetter | None,
    payloads: Payloads,
    history: int | None,
) -> End:
    match settlement:
        case Commit():
            return _committed(reservation.message, settlement, payloads, history)
        case Move():
            return _moved(reservation.message, settlement, payloads)
        case Rollback(delay=None):
            raise InvalidOutcome("a rollback without a delay must be decided by a retry policy first: see decide()")
        case Rollback(delay=delay, error=error):
            return RolledBack(check_span("delay", delay), _error(error))
        case Bury():
            return _buried(reservation.message, settlement, dead_letter)
        case Release():
            due_at = reservation.message.due_at
            return Released(reservation.message.first_due_at if due_at is None else due_at)
        case Gather():
            return _joined(reservation, settlement, dead_letter, payloads, history)
        case Close():
            return Closed(reservation.message.queue, settlement.correlation, settlement.remember)
    raise InvalidOutcome(f"message {reservation.message.id} cannot be settled by {shown(settlement, 120)}")


def _buried(message: Message, bury: Bury, dead_letter: DeadLetter | None) -> End:
    if dead_letter is None:
        return Buried(_error(bury))
    why = failure(bury)
    reason = "" if why is None else codec.storable(why.message)
    return moved_to_dead_letters(
        dead_letter.queue,
        message.queue,
        message.key,
        message.headers,
        message.attempts,
        reason,
        dead_letter.now,
        message.group,
        message.priority,
        _error(bury),
    )


def _joined(
    reservation: Reservation, gather: Gather, dead_letter: DeadLetter | None, payloads: Payloads, history: int | None
) -> Joined:
    complete = gather.complete

    def is_complete(parts: Sequence[str]) -> bool:
        assert complete is not None  # noqa: S101 - it is asked only then
        messages = [as_message(part, payloads.decode) for part in parts]
        try:
            return bool(complete(messages))
        except Exception as error:
            raise InvalidOutcome(
                f"message {reservation.message.id}: the predicate of the set {shown(gather.correlation)} failed on its "
                f"{len(parts)} parts"
            ) from error

    return Joined(
        check_queue_name(gather.sets),
        payloads.veiled(gather.correlation),
        check_span("within", gather.within),
        gather.limit,
        _end(reservation, gather.full, dead_letter, payloads, history),
        gather.count,
        None if complete is None else is_complete,
        None if gather.late is None else _end(reservation, gather.late, dead_letter, payloads, history),
        check_span("remember", gather.remember),
    )


def _committed(message: Message, commit: Commit, payloads: Payloads, history: int | None) -> Committed:
    then = tuple(_pushed_then(draft, payloads) for draft in commit.then)
    if commit.payload is UNSET:
        return Committed(then, dropped=commit.dropped)
    if history is None:
        raise ConfigurationError(
            f"queue {message.queue!r} keeps no history, so commit(payload=…) of message {message.id} has no place to "
            "go; declare one: db.queue(…, history=timedelta(days=7))"
        )
    kept = payloads.encode(commit.payload, history)
    return Committed(then, kept.text, kept.kind, commit.dropped)


def _pushed_then(draft: Draft, payloads: Payloads) -> Entry:
    to = getattr(draft, "queue", None) or ""  # what is no draft, or names no queue, is refused in a moment
    return draft_entry(draft, None, encode=partial(payloads.encode_for, to))


def _moved(message: Message, move: Move, payloads: Payloads) -> Moved:
    if move.payload is not UNSET and move.patch is not UNSET:
        raise InvalidMessage(f"give payload or patch to move message {message.id}, not both")
    to = check_queue_name(move.to)
    encoded = None
    if move.patch is not UNSET:
        encoded = payloads.patched(to, message.payload, move.patch)
    elif move.payload is not UNSET:
        encoded = payloads.encode_for(to, move.payload)
    due, delay = check_due(move.due, move.delay)
    return Moved(
        to,
        None if encoded is None else encoded.text,
        None if encoded is None else encoded.kind,
        message.key if move.key is UNSET else check_key(move.key),
        _moved_headers(message, move),
        due,
        delay,
        check_on_duplicate(move.on_duplicate),
        message.group if move.group is UNSET else check_group(move.group),
        message.priority if move.priority is UNSET else check_priority(move.priority),
    )


def _moved_headers(message: Message, move: Move) -> str | None:
    count = hops(message) + 1
    if not move.headers and len(message.headers) == (HOPS in message.headers):
        return _hops_alone(count)
    return codec.encode_headers(merged(message.headers, move.headers) | {HOPS: count})


@lru_cache(maxsize=256)
def _hops_alone(count: int) -> str | None:
    """Return the headers of a message that has no other; most have none."""
    return codec.encode_headers({HOPS: count})


def hops(message: Message) -> int:
    """Return how many moves brought the message here."""
    count = message.headers.get(HOPS, 0)
    return count if isinstance(count, int) else 0


def _error(error: BaseException | Failure | str | None) -> str | None:
    described = failure(error)
    return None if described is None else codec.encode_failure(described)
