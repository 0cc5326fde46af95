"""Conversion between users' values and the store's: drafts to entries, records to messages, settlements to turns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from duerow.errors import CodecError, ConfigurationError, InvalidMessage, InvalidOutcome
from duerow.message import (
    Draft,
    Message,
    Pushed,
    Scalar,
    are_plain,
    check_due,
    check_group,
    check_key,
    check_on_duplicate,
    check_priority,
    check_queue_name,
    check_span,
)
from duerow.payload import codec
from duerow.payload.dead_letter_headers import home
from duerow.payload.encoding import PLAIN, PayloadReader, Payloads
from duerow.plan import Plan
from duerow.queue.decoded_parts import decoded_parts
from duerow.reservation import BareReservation, Receipt
from duerow.settlement import Bury, Close, Commit, Gather, Move, Release, Rollback, Settlement, merged
from duerow.store import (
    Buried,
    Closed,
    Committed,
    End,
    Entry,
    Joined,
    MessageStore,
    Moved,
    PushesChunks,
    PushesKeyedChunks,
    Record,
    Released,
    RolledBack,
    Turn,
)
from duerow.store.dead_letters import dead_letter as moved_to_dead_letters

_COMMITTED: Final = Committed()


class DeadLetter(NamedTuple):
    """The queue that receives messages that have failed for good, and the current time."""

    queue: str
    now: datetime


ENCODED_AT_ONCE: Final = 500
"""How many messages of a large push are encoded at a time."""

KEYED_AT_ONCE: Final = 5_000
"""How many messages with keys are encoded before the first is sent: as many as one statement takes, in key order."""

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
    payloads: Payloads = PLAIN,
) -> Entry:
    """Return a message to be pushed, in the store's form; raise InvalidMessage if a field is out of bounds."""
    if due is not None or delay is not None:
        due, delay = check_due(due, delay)
    encoded = payloads.encode(payload, max_bytes)
    kept_headers = None if headers is None else codec.encode_headers(headers)
    kept_key = None if key is None else check_key(key)
    if payloads.seals:
        kept_key = payloads.key(kept_key)
        encoded = payloads.seal(encoded, queue, kept_key, kept_headers)
    return Entry(
        queue,
        kept_key,
        encoded.kind,
        encoded.text,
        kept_headers,
        due,
        delay,
        None if group is None else check_group(group),
        priority if priority == 0 and type(priority) is int else check_priority(priority),
    )


def draft_entry(
    draft: Draft, queue: str | None, max_bytes: int = codec.MAX_PAYLOAD_BYTES, payloads: Payloads = PLAIN
) -> Entry:
    """Return a draft in the store's form, for `queue` unless it names its own; raise InvalidMessage if invalid."""
    if not isinstance(draft, Draft):
        raise InvalidMessage(
            f"{'then=' if queue is None else 'push_many'} takes Drafts, not {type(draft).__name__}: "
            "write Draft(payload)"
        )
    if queue is None:
        if draft.queue is None:
            raise InvalidMessage("a draft in then= must name its queue: Draft(…, queue=…)")
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
        payloads,
    )


def draft_entries(
    drafts: Sequence[Draft], queue: str, max_bytes: int = codec.MAX_PAYLOAD_BYTES, payloads: Payloads = PLAIN
) -> list[Entry]:
    """Return drafts in the store's form, like `draft_entry`; the first invalid draft raises its error."""
    quick = _alike_entries(drafts, queue, max_bytes, payloads)
    return [draft_entry(draft, queue, max_bytes, payloads) for draft in drafts] if quick is None else quick


def in_chunks(
    messages: MessageStore,
    drafts: Sequence[Draft],
    ignores: bool,
    queue: str,
    max_bytes: int,
    payloads: Payloads,
) -> Callable[[], Plan[list[Pushed]]] | None:
    """Return a function that makes the plan of a large push whose drafts are encoded as they are sent.

    Args:
        messages: the store's messages.
        drafts: the messages.
        ignores: whether a message whose key is taken is ignored, and no keys are remembered.
        queue: the queue.
        max_bytes: the maximum size of a payload.
        payloads: encodes the payloads.

    Returns:
        The function; None if the push is not large enough, or the store cannot do this.
    """
    count = len(drafts)
    if count <= ENCODED_AT_ONCE or payloads.seals or set(map(type, drafts)) != {Draft}:
        return None

    def encoded(some: Sequence[Draft]) -> list[Entry]:
        return draft_entries(some, queue, max_bytes, payloads)

    def encode(places: Sequence[int]) -> list[Entry]:
        return encoded([drafts[place] for place in places])

    keys = [draft.key for draft in drafts]
    if keys.count(None) == count and isinstance(messages, PushesChunks):
        starts = range(0, count, ENCODED_AT_ONCE)
        return lambda: messages.push_chunks(
            queue, (encoded(drafts[start : start + ENCODED_AT_ONCE]) for start in starts)
        )
    plain = ignores and {str, type(None)}.issuperset(map(type, keys))
    if plain and count > KEYED_AT_ONCE and isinstance(messages, PushesKeyedChunks):
        return lambda: messages.push_keyed_chunks(queue, keys, encode)
    return None


def _alike_entries(drafts: Sequence[Draft], queue: str, max_bytes: int, payloads: Payloads) -> list[Entry] | None:
    """Return the entries of drafts, made field by field with far less work; None if they must be made one by one."""
    if set(map(type, drafts)) != {Draft} or not {None, queue}.issuperset([draft.queue for draft in drafts]):
        return None
    encoded = payloads.encode_alike([draft.payload for draft in drafts], max_bytes)
    if encoded is None:
        return None
    try:
        dues, delays = _times([draft.due for draft in drafts], [draft.delay for draft in drafts])
        keys = _short_texts([draft.key for draft in drafts], check_key)
        headers = _each([draft.headers for draft in drafts], codec.encode_headers)
        groups = _short_texts([draft.group for draft in drafts], check_group)
        priorities = [draft.priority for draft in drafts]
        priorities = priorities if _all_zero(priorities) else [check_priority(one) for one in priorities]
    except InvalidMessage:
        return None
    kind, texts = encoded
    return list(map(Entry, repeat(queue), keys, repeat(kind), texts, headers, dues, delays, groups, priorities))


def _each(values: list[Any], check: Callable[[Any], Any]) -> Sequence[Any]:
    """Return the checked values of one field; None stands for no value."""
    return values if values.count(None) == len(values) else [None if one is None else check(one) for one in values]


def _short_texts(values: list[Any], check: Callable[[Any], Any]) -> Sequence[Any]:
    return values if values.count(None) == len(values) or are_plain(values) else _each(values, check)


def _all_zero(priorities: list[Any]) -> bool:
    return set(map(type, priorities)) == {int} and priorities.count(0) == len(priorities)


def _times(dues: list[Any], delays: list[Any]) -> tuple[Sequence[datetime | None], Sequence[timedelta | None]]:
    """Return the checked due times and delays."""
    if dues.count(None) == len(dues) == delays.count(None):
        return dues, delays
    checked = [check_due(due, delay) for due, delay in zip(dues, delays, strict=True)]
    return [due for due, _ in checked], [delay for _, delay in checked]


def message(record: Record, reader: PayloadReader = PLAIN) -> Message:
    """Return a stored message with its payload decoded; raise CodecError if it cannot be decoded, or is damaged."""
    if record.damage is not None:
        raise CodecError(f"message {record.id} cannot be handed out: {record.damage}")
    headers = codec.decode_headers(record.headers)
    return Message(
        record.id,
        record.queue,
        reader.decode(record),
        record.kind,
        record.key,
        headers,
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
        None if record.last_error is None and not headers else reader.failure(record.last_error, headers),
    )


def readable(record: Record, reader: PayloadReader = PLAIN) -> Message:
    """Return a stored message for inspection: a payload that cannot be decoded is returned as its stored text."""
    try:
        return message(record, reader)
    except CodecError:
        shown = msgspec.structs.replace(record, kind=codec.JSON, payload="null", headers=None, damage=None)
        error = reader.failure(record.last_error)
        return msgspec.structs.replace(message(shown), kind=record.kind, payload=record.payload, last_error=error)


def put_off(record: Record) -> BareReservation:
    """Return a reservation whose release postpones the message to the end of its lease, without counting an attempt.

    This is for a message whose encryption key is missing here: another consumer may have the key, and until then the
    message holds up no others.
    """
    assert record.leased_until is not None  # noqa: S101 - it was just reserved
    due_later = msgspec.structs.replace(readable(record), due_at=record.leased_until)
    return BareReservation(due_later, record.leased_until)


def check_reserved(reservation: object, queue: str, place: Hashable) -> None:
    """Raise ConfigurationError unless it is a reservation of this queue: another queue may have the same receipts.

    Args:
        reservation: the reservation to settle.
        queue: the name of the queue that should settle it.
        place: where that queue is, as `Connections.place` returns it.
    """
    if not isinstance(reservation, BareReservation):
        raise ConfigurationError(f"only a reservation from reserve() can be settled, not {type(reservation).__name__}")
    message = reservation.message
    if message.queue != queue:
        raise ConfigurationError(
            f"message {message.id} was reserved from queue {message.queue!r}, and queue {queue!r} was asked to settle "
            "it; settle it there, or with the reservation's own methods"
        )
    owner = getattr(reservation, "queue", None)
    if owner is not None and owner.database.connections.place != place:
        raise ConfigurationError(
            f"message {message.id} was reserved from queue {queue!r} of a different database than the one that was "
            "asked to settle it; settle it there, or with the reservation's own methods"
        )


def turn(
    reservation: BareReservation,
    settlement: Settlement,
    dead_letter: DeadLetter | None = None,
    payloads: Payloads = PLAIN,
    history: int | None = None,
) -> Turn:
    """Return the end of a reservation in the store's form.

    Args:
        reservation: the reservation whose turn ends.
        settlement: how it ends.
        dead_letter: the queue that receives messages that have failed for good, and the time; None: they stay where
            they are.
        payloads: writes and reads the payloads of the message's queue.
        history: the maximum size in bytes of a payload in the queue's history; None: the queue keeps no history.

    Raises:
        InvalidMessage: a payload, header, key, queue, due time or delay in the settlement is out of bounds.
        InvalidOutcome: the settlement is invalid.
        ConfigurationError: the settlement needs something that the queue does not keep.
    """
    message = reservation.message
    return Turn(
        Receipt(message.id, message.token),
        _end(reservation, settlement, dead_letter, payloads, history),
        None if message.group is None else (message.queue, message.group),
    )


def done(message: Message) -> Turn:
    """Return the end of a message that is simply done, as most messages are."""
    group = None if message.group is None else (message.queue, message.group)
    return Turn(Receipt(message.id, message.token), _COMMITTED, group)


def _end(
    reservation: BareReservation,
    settlement: Settlement,
    dead_letter: DeadLetter | None,
    payloads: Payloads,
    history: int | None,
) -> End:
    match settlement:
        case Commit():
            return _committed(reservation.message, settlement, payloads, history)
        case Move():
            return _moved(reservation, settlement, payloads)
        case Rollback(delay=None):
            raise InvalidOutcome("a rollback without a delay needs a retry policy to decide first; see decide()")
        case Rollback(delay=delay, error=error):
            return RolledBack(check_span("delay", delay), payloads.failure_text(error))
        case Bury():
            return _buried(reservation.message, settlement, dead_letter, payloads)
        case Release():
            due_at = reservation.message.due_at
            return Released(reservation.message.first_due_at if due_at is None else due_at)
        case Gather():
            return _joined(reservation, settlement, dead_letter, payloads, history)
        case Close():
            return Closed(reservation.message.queue, settlement.correlation, settlement.remember)
    raise InvalidOutcome(f"message {reservation.message.id} cannot be settled by {type(settlement).__name__}")


def _buried(message: Message, bury: Bury, dead_letter: DeadLetter | None, payloads: Payloads) -> End:
    then = tuple(_pushed_then(draft, payloads) for draft in bury.then)
    if dead_letter is None:
        return Buried(payloads.failure_text(bury), then)
    reason = codec.storable(payloads.said(bury).message)
    moved = moved_to_dead_letters(
        dead_letter.queue,
        message.queue,
        message.key,
        message.headers,
        message.attempts,
        reason,
        dead_letter.now,
        message.group,
        message.priority,
        payloads.failure_text(bury),
        payloads.hidden_reason(bury),
    )
    return msgspec.structs.replace(moved, then=then) if then else moved


def _joined(
    reservation: BareReservation,
    gather: Gather,
    dead_letter: DeadLetter | None,
    payloads: Payloads,
    history: int | None,
) -> Joined:
    complete, decoded, place = gather.complete, decoded_parts(payloads), (gather.sets, gather.correlation)

    def is_complete(parts: Sequence[str]) -> bool:
        assert complete is not None  # noqa: S101 - it is asked only then
        messages = decoded.messages(place, parts, payloads)
        try:
            whole = bool(complete(messages))
        except Exception as error:
            raise InvalidOutcome(
                f"message {reservation.message.id}: the predicate of its set failed on the {len(parts)} parts"
            ) from error
        if whole:
            decoded.forget(place)
        return whole

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
    log = None if history is None else payloads.log_text(commit.log)
    if commit.payload is UNSET:
        return Committed(then, dropped=commit.dropped, why=log)
    if history is None:
        raise ConfigurationError(
            f"queue {message.queue!r} keeps no history, so it has no place for commit(payload=…) of message "
            f"{message.id}; keep a history with db.queue(…, history=timedelta(days=7))"
        )
    kept = payloads.seal(payloads.encode(commit.payload, history), message.queue, message.key, message.headers)
    return Committed(then, kept.text, kept.kind, commit.dropped, log)


def _pushed_then(draft: Draft, payloads: Payloads) -> Entry:
    return draft_entry(draft, None, payloads=payloads.elsewhere)


def _moved(reservation: BareReservation, move: Move, payloads: Payloads) -> Moved:
    message = reservation.message
    if move.payload is not UNSET and move.patch is not UNSET:
        raise InvalidMessage(f"give payload or patch to move message {message.id}, not both")
    to = check_queue_name(move.to)
    encoded = None
    if move.patch is not UNSET:
        encoded = payloads.patched(message.payload, move.patch)
    elif move.payload is not UNSET:
        encoded = payloads.elsewhere.encode(move.payload)
    key = message.key if move.key is UNSET else check_key(move.key)
    headers = _moved_headers(message, move)
    if encoded is not None:
        key = payloads.key(key)
        encoded = payloads.seal(encoded, to, key, headers)
    elif reservation.sealed is not None:
        key = payloads.key(key)
        encoded = payloads.moved(
            reservation.sealed, home(message.queue, message.key, message.headers), to, key, headers
        )
    due, delay = check_due(move.due, move.delay)
    return Moved(
        to,
        None if encoded is None else encoded.text,
        None if encoded is None else encoded.kind,
        key,
        headers,
        due,
        delay,
        check_on_duplicate(move.on_duplicate),
        message.group if move.group is UNSET else check_group(move.group),
        message.priority if move.priority is UNSET else check_priority(move.priority),
        error=payloads.log_text(move.log),
        then=tuple(_pushed_then(draft, payloads) for draft in move.then),
    )


def _moved_headers(message: Message, move: Move) -> str | None:
    count = hops(message) + 1
    if not move.headers and len(message.headers) == (HOPS in message.headers):
        return _hops_alone(count)
    return codec.encode_headers(merged(message.headers, move.headers) | {HOPS: count})


@lru_cache(maxsize=256)
def _hops_alone(count: int) -> str | None:
    """Return the headers of a message whose only header is the number of hops, as for most messages."""
    return codec.encode_headers({HOPS: count})


def hops(message: Message) -> int:
    """Return how many moves brought the message here."""
    count = message.headers.get(HOPS, 0)
    return count if isinstance(count, int) else 0
