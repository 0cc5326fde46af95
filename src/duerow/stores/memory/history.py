"""What is kept of what is over: turns of messages, and keys; one function each, given the state and the moment."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from duerow.message import Ending
from duerow.store import (
    Committed,
    End,
    Entry,
    HistoryQuery,
    HistoryRow,
    Moved,
    Record,
    Released,
    Retention,
    RolledBack,
    Scan,
)
from duerow.store.retention import stood_for
from duerow.stores.memory.conditions import holds
from duerow.stores.memory.state import State
from duerow.stores.records import story, turn_of


def find(state: State, now: datetime, query: HistoryQuery) -> list[HistoryRow]:
    """Go through all turns, and keep those of which all that is asked holds."""
    turns = state.past.values() if query.id is not None else state.in_time(state.past.values())
    found = [past for past, _ in turns if _fits(past, query)]
    found.sort(key=lambda past: past.place, reverse=not query.oldest_first)
    return found[: query.limit]


def scan(state: State, now: datetime, query: Scan) -> list[HistoryRow]:
    """Go through all turns in the order of their receipts, and keep those of which all that is asked holds."""
    found = [past for past, _ in state.past.values() if _is_scanned(past, query)]
    found.sort(key=lambda past: (past.id, past.token), reverse=query.descending)
    return found[: query.limit]


def prune(state: State, now: datetime, limit: int) -> int:
    """Take away what was kept long enough."""
    return state.forget(now, limit)


def ended(state: State, now: datetime, record: Record, end: End, keep: Retention | None, met: bool = False) -> None:
    """Keep a turn that ends, and remember the key of a message that leaves or is given up.

    Args:
        state: what is kept.
        now: the moment.
        record: the message during its turn.
        end: how the turn ends.
        keep: what is to be kept.
        met: a move ends the message instead, since another one has its key in the target.
    """
    if keep is None or isinstance(end, Released):
        return
    payload, kind, headers = record.payload, record.kind, record.headers
    if isinstance(end, Committed):
        if end.payload is not None and end.kind is not None:
            payload, kind = end.payload, end.kind
        headers = end.headers or headers
    outcome, moved_to, error = story(end)
    if met and isinstance(end, Moved):
        outcome, moved_to, error = "done", None, stood_for(end.to, str(end.key))
    if keep.history is not None:
        past = turn_of(record, state.place(record), now, outcome, moved_to, error)
        state.note(replace(past, payload=payload, kind=kind, headers=headers), now + keep.history)
    if not isinstance(end, RolledBack):
        left(state, now, record, keep)


def lapsed(
    state: State, now: datetime, record: Record, error: str, buried: bool, to: str | None, keep: Retention | None
) -> None:
    """Keep the turn of a lease that ended unsettled; remember the key of a message that is buried for it."""
    if keep is None or record.leased_until is None:
        return
    if keep.history is not None:
        outcome: Ending = "dead" if buried else "failed"
        moved_to = to if buried else None
        past = turn_of(record, state.place(record), record.leased_until, outcome, moved_to, error)
        state.note(past, now + keep.history)
    if buried:
        left(state, now, record, keep)


def popped(state: State, now: datetime, record: Record, handed: Record, keep: Retention | None) -> None:
    """Keep the turn of a message that is popped, and its key.

    Args:
        state: what is kept.
        now: the moment.
        record: the message in line.
        handed: the message as it is handed out.
        keep: what is to be kept.
    """
    if keep is None:
        return
    if keep.history is not None:
        past = turn_of(handed, record.due_at, now, "done", None, None)
        state.note(replace(past, token=record.token + 1), now + keep.history)
    left(state, now, record, keep)


def left(state: State, now: datetime, record: Record, keep: Retention | None) -> None:
    """Remember the key of a message that has left."""
    if keep is not None and keep.keys is not None and record.key is not None:
        state.remember(record.queue, record.key, record.id, now + keep.keys)


def taken_again(state: State, entries: Iterable[Entry]) -> None:
    """Forget who held the keys of messages that were just pushed, whose time was over."""
    for entry in entries:
        if entry.key is not None:
            state.forget_key(entry.queue, entry.key)


def former(state: State, now: datetime, queue: str, key: str | None) -> int | None:
    """Return who held a key, if it is remembered now."""
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
