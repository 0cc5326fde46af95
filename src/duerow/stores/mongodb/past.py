"""What is kept of turns that end, as values: nothing here touches the server."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from duerow.history import stood_for
from duerow.message import Ending
from duerow.store import Buried, Committed, End, Moved, Past, Record, RolledBack


def ended(record: Record, place: datetime | None, now: datetime, end: End, met: bool = False) -> Past:
    """Return the turn that ends so.

    Args:
        record: the message during its turn.
        place: the due time that it had in line.
        now: the moment.
        end: how the turn ends.
        met: a move ends the message instead, since another one has its key in the target.
    """
    payload, kind, headers = record.payload, record.kind, record.headers
    if isinstance(end, Committed):
        if end.payload is not None and end.kind is not None:
            payload, kind = end.payload, end.kind
        headers = end.headers or headers
    outcome, moved_to, error = _story(end)
    if met and isinstance(end, Moved):
        outcome, moved_to, error = "done", None, stood_for(end.to, str(end.key))
    past = _past(record, place, now, outcome, moved_to, error)
    return replace(past, payload=payload, kind=kind, headers=headers)


def lapsed(record: Record, place: datetime | None, error: str, buried: bool, to: str | None) -> Past:
    """Return the turn of a lease that ended unsettled; a dead one if the message is buried for it."""
    finished_at = record.leased_until or record.created_at
    return _past(record, place, finished_at, "dead" if buried else "failed", to if buried else None, error)


def popped(record: Record, handed: Record, now: datetime) -> Past:
    """Return the turn of a message that is popped, with the token that a reservation would have had."""
    return replace(_past(handed, record.due_at, now, "done", None, None), token=record.token + 1)


def _story(end: End) -> tuple[Ending, str | None, str | None]:
    """Return the outcome that history tells, where the message went, and why."""
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


def _past(
    record: Record,
    due_at: datetime | None,
    finished_at: datetime,
    outcome: Ending,
    moved_to: str | None,
    error: str | None,
) -> Past:
    return Past(
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
