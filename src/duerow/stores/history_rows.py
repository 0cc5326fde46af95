"""Rows of the history, for stores that compute them in Python."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from duerow.store import Committed, End, HistoryRow, Moved, Record
from duerow.store.retention import stood_for
from duerow.stores.records import story, turn_of


def ended(record: Record, place: datetime | None, now: datetime, end: End, met: bool = False) -> HistoryRow:
    """Return the finished turn.

    Args:
        record: the message during its turn.
        place: the due time that determined its place in line.
        now: the time at which the turn ends.
        end: how the turn ends.
        met: whether the message ends instead of moving, because its key is taken in the target queue.
    """
    payload, kind, headers = record.payload, record.kind, record.headers
    if isinstance(end, Committed):
        if end.payload is not None and end.kind is not None:
            payload, kind = end.payload, end.kind
        headers = end.headers or headers
    outcome, moved_to, error = story(end)
    if met and isinstance(end, Moved):
        outcome, moved_to, error = "done", None, stood_for(end.to, str(end.key))
    past = turn_of(record, place, now, outcome, moved_to, error)
    return replace(past, payload=payload, kind=kind, headers=headers)


def lapsed(record: Record, place: datetime | None, error: str, buried: bool, to: str | None) -> HistoryRow:
    """Return the turn of an expired lease; its outcome is "dead" if the message is buried because of it."""
    finished_at = record.leased_until or record.created_at
    return turn_of(record, place, finished_at, "dead" if buried else "failed", to if buried else None, error)


def popped(record: Record, handed: Record, now: datetime) -> HistoryRow:
    """Return the turn of a popped message, with the token that a reservation would have had."""
    return replace(turn_of(handed, record.due_at, now, "done", None, None), token=record.token + 1)
