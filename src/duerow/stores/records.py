"""Changed messages as new values, for stores that compute changes in Python."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import UnsetType
from msgspec.structs import replace

from duerow.message import Ending, Failure, OnDuplicate
from duerow.payload import codec
from duerow.payload.codec import decode_failure, encode_failure
from duerow.store import Buried, Change, Committed, End, Entry, HistoryRow, Moved, Record, RolledBack
from duerow.store.dead_letters import dead_letter as dead_letters
from duerow.store.join_sets import whole_text


def due_time(now: datetime, due: datetime | None, delay: timedelta | None) -> datetime:
    """Return the due time given by `due` or `delay`; default: now."""
    return due if due is not None else now + (delay or timedelta(0))


def unleased(record: Record) -> Record:
    """Return the message without a lease."""
    return replace(record, leased_by=None, leased_until=None)


def settled(record: Record) -> Record:
    """Return the message with its turn ended: without a lease, and with a new token."""
    return replace(unleased(record), token=record.token + 1)


def dead(record: Record) -> Record:
    """Return the message as dead: without a due time, and no longer holding its key."""
    return replace(settled(record), status="dead", due_at=None)


def as_new(record: Record, due: datetime) -> Record:
    """Return the message as if it were new, first due at this time."""
    return replace(
        settled(record),
        status="new",
        attempts=0,
        due_at=due,
        first_due_at=due,
        last_attempt_at=None,
        last_error=None,
    )


def whole_set(record: Record, correlation: str, parts: Sequence[str], now: datetime) -> Record:
    """Return the message that a complete set becomes, due now."""
    return replace(as_new(record, now), payload=whole_text(correlation, parts), kind=codec.JSON)


def story(end: End) -> tuple[Ending, str | None, str | None]:
    """Return the outcome for the history, the target queue, and the error."""
    match end:
        case Committed():
            return "dropped" if end.dropped else "done", end.moved_to, end.why
        case Moved():
            return "dead" if end.dead else "moved", end.to, end.error
        case Buried(error):
            return "dead", None, error
        case RolledBack(_, error):
            return "failed", None, error
    raise AssertionError(f"{end!r} is kept in no history")


def turn_of(
    record: Record,
    due_at: datetime | None,
    finished_at: datetime,
    outcome: Ending,
    moved_to: str | None,
    error: str | None,
) -> HistoryRow:
    """Return a row of the history, given the end of the turn and the due time that determined its place in line."""
    return HistoryRow(
        id=record.id,
        token=record.token,
        queue=record.queue,
        key=record.key,
        kind=record.kind,
        payload=record.payload,
        headers=record.headers,
        group=record.group,
        priority=record.priority,
        outcome=outcome,
        moved_to=moved_to,
        attempts=record.attempts,
        created_at=record.created_at,
        first_due_at=record.first_due_at,
        due_at=record.first_due_at if due_at is None else due_at,
        started_at=finished_at if record.last_attempt_at is None else record.last_attempt_at,
        finished_at=finished_at,
        worker=record.leased_by,
        error=error,
    )


def created(id_: int, entry: Entry, now: datetime) -> Record:
    """Return a new message that is pushed now."""
    due = due_time(now, entry.due, entry.delay)
    return Record(
        id=id_,
        queue=entry.queue,
        payload=entry.payload,
        kind=entry.kind,
        key=entry.key,
        headers=entry.headers,
        group=entry.group,
        priority=entry.priority,
        status="new",
        due_at=due,
        first_due_at=due,
        attempts=0,
        token=0,
        leased_by=None,
        leased_until=None,
        created_at=now,
        last_attempt_at=None,
        last_error=None,
    )


def lease_runs(record: Record, now: datetime) -> bool:
    """Return whether the message is leased now."""
    return record.leased_until is not None and record.leased_until > now


def ended_lease(record: Record, attempts: int | None) -> str:
    """Return the error of an attempt whose lease expired."""
    ended = (
        f"was in hand when its worker died: lease of {record.leased_by} ended at "
        f"{record.leased_until:%Y-%m-%d %H:%M:%S} UTC, attempt {record.attempts} of {attempts or 'any number'}"
    )
    return encode_failure(Failure("LeaseEnded", ended))


def as_dead_letter(now: datetime, record: Record, to: str) -> Record:
    """Return the message as moved to a dead-letter queue."""
    why = decode_failure(record.last_error)
    reason = "" if why is None else why.message
    letter = dead_letters(
        to, record.queue, record.key, record.headers, record.attempts, reason, now, record.group, record.priority
    )
    return replace(as_new(record, now), queue=to, key=None, headers=letter.headers)


def lent(record: Record, now: datetime, lease: timedelta, consumer: str) -> Record:
    """Return the message as leased; its due time is the end of the lease."""
    until = now + lease
    return replace(
        record,
        attempts=record.attempts + 1,
        token=record.token + 1,
        leased_by=consumer,
        leased_until=until,
        due_at=until,
        last_attempt_at=now,
    )


def met(now: datetime, held: Record, entry: Entry, on_duplicate: OnDuplicate) -> Record | None:
    """Return the live message that holds a key, changed by a push with that key; None if it stays unchanged.

    "replace" makes it a new message with the old id, unless the push changes nothing: payload and kind are equal, the
    message neither failed nor was stopped, and the push gives no time or the same first due time. "earliest" moves the
    due time to an earlier one if the message has no lease and is not stopped.
    """
    if on_duplicate == "replace" and not _says_nothing_new(now, held, entry):
        return replace(
            as_new(held, due_time(now, entry.due, entry.delay)),
            payload=entry.payload,
            kind=entry.kind,
            headers=entry.headers,
            group=entry.group,
            priority=entry.priority,
        )
    if on_duplicate == "earliest" and held.leased_by is None and held.due_at is not None:
        due = due_time(now, entry.due, entry.delay)
        if due < held.due_at:
            return replace(held, due_at=due)
    return None


def altered(now: datetime, record: Record, change: Change) -> Record:
    """Return the changed message, without a lease, and with a new token that invalidates all receipts."""
    after = settled(record)
    if lease_runs(record, now):
        after = replace(after, due_at=now)
    if not isinstance(change.payload, UnsetType) and not isinstance(change.kind, UnsetType):
        after = replace(after, payload=change.payload, kind=change.kind)
    if not isinstance(change.headers, UnsetType):
        after = replace(after, headers=change.headers)
    if not isinstance(change.priority, UnsetType):
        after = replace(after, priority=change.priority)
    if not isinstance(change.due, UnsetType):
        after = replace(after, due_at=change.due)
    if not isinstance(change.delay, UnsetType):
        after = replace(after, due_at=now + change.delay)
    if after.status == "dead" and after.due_at is not None:
        after = replace(after, status="error")
    if change.anew:
        after = replace(after, status="new", attempts=0, last_attempt_at=None, last_error=None)
    return after


def _says_nothing_new(now: datetime, held: Record, entry: Entry) -> bool:
    same_content = (entry.payload, entry.kind) == (held.payload, held.kind)
    waiting = held.status == "new" and held.due_at is not None
    no_time = entry.due is None and entry.delay is None
    return same_content and waiting and (no_time or due_time(now, entry.due, entry.delay) == held.first_due_at)
