"""Sets of joins: how they grow, and become messages."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from duerow.errors import DuerowError
from duerow.payload import codec
from duerow.store import Closed, Committed, End, Entry, Joined, Record
from duerow.store.join_sets import is_complete, open_text, part_headers, part_text, whole_text
from duerow.stores.memory.state import State
from duerow.stores.memory.steps import push
from duerow.stores.records import begun_anew


def join(state: State, now: datetime, record: Record, join: Joined) -> End | DuerowError:
    """Add a message to its set; return how its turn ends, or why it is refused."""
    place = (join.sets, join.correlation)
    set_id, closed_until = state.sets.get(place, (None, None))
    if join.late is not None and closed_until is not None and closed_until > now:
        return join.late
    standing = None if set_id is None else state.records.get(set_id)
    if standing is not None and standing.queue != join.sets:  # somebody took the set away
        standing = None
    parts = {} if standing is None else state.parts.get(standing.id, {})
    if len(parts) >= join.limit:
        return join.full
    parts = {**parts, record.id: part_text(record)}
    try:
        complete = is_complete(join, len(parts), lambda: [parts[id_] for id_ in sorted(parts)])
    except DuerowError as error:
        return error
    if standing is None:
        if set_id is not None:
            state.assign(state.parts, set_id, None)
        entry = Entry(join.sets, None, codec.JSON, open_text(join.correlation), None, None, join.within)
        set_id = push(state, now, [entry], "ignore")[0].id
        standing = state.records[set_id]
        state.assign(state.sets, place, (set_id, None))
    state.assign(state.parts, standing.id, parts)
    if complete:
        _close(state, now, standing, join.correlation, None if join.late is None else join.remember)
    return Committed(moved_to=join.sets, headers=part_headers(record.headers, standing.id))


def close(state: State, now: datetime, record: Record, closed: Closed) -> None:
    """Complete a set with the parts that have arrived."""
    _close(state, now, record, closed.correlation, closed.remember)


def _close(state: State, now: datetime, standing: Record, correlation: str, remember: timedelta | None) -> None:
    place = (standing.queue, correlation)
    parts = state.parts.get(standing.id, {})
    payload = whole_text(correlation, [parts[id_] for id_ in sorted(parts)])
    state.put(replace(begun_anew(standing, now), payload=payload, kind=codec.JSON))
    state.assign(state.parts, standing.id, None)
    if state.sets.get(place, (None, None))[0] in (standing.id, None):
        state.assign(state.sets, place, (None, now + remember) if remember else None)
    for known, (set_id, until) in list(state.sets.items()):
        if set_id is None and until is not None and until <= now:
            state.assign(state.sets, known, None)
