"""Steps for history and remembered keys: one function for each, called with the state and the time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from duerow.store import (
    End,
    Entry,
    HistoryQuery,
    HistoryRow,
    Record,
    Released,
    Retention,
    RolledBack,
    Scan,
)
from duerow.stores import history_rows
from duerow.stores.memory.conditions import holds
from duerow.stores.memory.state import State


def find(state: State, now: datetime, query: HistoryQuery) -> list[HistoryRow]:
    """Return the finished turns that match a query."""
    turns = state.past.values() if query.id is not None else state.in_time(state.past.values())
    found = [past for past, _ in turns if _fits(past, query)]
    found.sort(key=lambda past: past.place, reverse=not query.oldest_first)
    return found[: query.limit]


def scan(state: State, now: datetime, query: Scan) -> list[HistoryRow]:
    """Return the finished turns that match a scan, in the order of their receipts."""
    found = [past for past, _ in state.past.values() if _is_scanned(past, query)]
    found.sort(key=lambda past: (past.id, past.token), reverse=query.descending)
    return found[: query.limit]


def prune(state: State, now: datetime, limit: int) -> int:
    """Delete turns and keys that were kept long enough."""
    return state.forget(now, limit)


def ended(state: State, now: datetime, record: Record, end: End, keep: Retention | None, met: bool = False) -> None:
    """Write a turn to the history, and remember the key of a message that leaves the queue or fails for good.

    Args:
        state: the state to change.
        now: the time.
        record: the message during its turn.
        end: how the turn ends.
        keep: what to keep, and for how long.
        met: whether the message ends instead of moving, because its key is taken in the target queue.
    """
    if keep is None or isinstance(end, Released):
        return
    if keep.history is not None:
        state.note(history_rows.ended(record, state.place(record), now, end, met), now + keep.history)
    if not isinstance(end, RolledBack):
        left(state, now, record, keep)


def lapsed(
    state: State, now: datetime, record: Record, error: str, buried: bool, to: str | None, keep: Retention | None
) -> None:
    """Write the turn of an expired lease; if the message is buried because of it, remember its key."""
    if keep is None or record.leased_until is None:
        return
    if keep.history is not None:
        state.note(history_rows.lapsed(record, state.place(record), error, buried, to), now + keep.history)
    if buried:
        left(state, now, record, keep)


def popped(state: State, now: datetime, record: Record, handed: Record, keep: Retention | None) -> None:
    """Write the turn of a popped message, and remember its key.

    Args:
        state: the state to change.
        now: the time.
        record: the message in line.
        handed: the message that is returned.
        keep: what to keep, and for how long.
    """
    if keep is None:
        return
    if keep.history is not None:
        state.note(history_rows.popped(record, handed, now), now + keep.history)
    left(state, now, record, keep)


def left(state: State, now: datetime, record: Record, keep: Retention | None) -> None:
    """Remember the key of a message that has left."""
    if keep is not None and keep.keys is not None and record.key is not None:
        state.remember(record.queue, record.key, record.id, now + keep.keys)


def taken_again(state: State, entries: Iterable[Entry]) -> None:
    """Forget the expired former holders of keys that were just pushed."""
    for entry in entries:
        if entry.key is not None:
            state.forget_key(entry.queue, entry.key)


def former(state: State, now: datetime, queue: str, key: str | None) -> int | None:
    """Return the id of the former holder of a key, if the key is remembered now."""
    id_, until = (0, now) if key is None else state.remembered.get((queue, key), (0, now))
    return id_ if until > now else None


def _fits(past: HistoryRow, query: HistoryQuery) -> bool:
    after = query.after
    return (
        past.queue == query.queue
        and query.id in (None, past.id)
        and not (query.ends and past.outcome == "failed")
        and (query.until is None or past.place <= query.until)
        and (after is None or (past.place > after if query.oldest_first else past.place < after))
        and (query.where is None or holds(query.where, past))
    )


def _is_scanned(past: HistoryRow, query: Scan) -> bool:
    return (
        past.id <= query.last
        and (query.descending or (past.id, past.token) > query.after)
        and (query.queues is None or past.queue in query.queues)
        and (query.where is None or holds(query.where, past))
    )
