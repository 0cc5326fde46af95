"""What becomes of a message when its turn ends, as values, for stores that work it out in Python."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from duerow.message import Ending
from duerow.store import Buried, Committed, End, Moved, Past, Record, RolledBack


def due_time(now: datetime, due: datetime | None, delay: timedelta | None) -> datetime:
    """Return the due time that was asked for; neither: now."""
    return due if due is not None else now + (delay or timedelta(0))


def unleased(record: Record) -> Record:
    """Return the message without a lease."""
    return replace(record, leased_by=None, leased_until=None)


def settled(record: Record) -> Record:
    """Return the message with its turn ended: no lease, and a token that no receipt carries."""
    return replace(unleased(record), token=record.token + 1)


def dead(record: Record) -> Record:
    """Return the message given up: it waits for people, not for a time, and no longer holds its key."""
    return replace(settled(record), status="dead", due_at=None)


def begun_anew(record: Record, due: datetime) -> Record:
    """Return the message as one that nobody was handed yet, first due at this time."""
    return replace(
        settled(record),
        status="new",
        attempts=0,
        due_at=due,
        first_due_at=due,
        last_attempt_at=None,
        last_error=None,
    )


def story(end: End) -> tuple[Ending, str | None, str | None]:
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


def turn_of(
    record: Record,
    due_at: datetime | None,
    finished_at: datetime,
    outcome: Ending,
    moved_to: str | None,
    error: str | None,
) -> Past:
    """Return what history keeps of a turn, given the due time that it had in line and how it ended."""
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
