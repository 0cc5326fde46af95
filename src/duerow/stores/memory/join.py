"""Keep the sets of joins, and turn complete sets into messages."""

from __future__ import annotations

from datetime import datetime, timedelta

from duerow.errors import DuerowError
from duerow.store import Closed, End, Joined, Record
from duerow.store.join_sets import Grown, first_entry, grown, in_order, joined, late_end
from duerow.stores.memory.state import State
from duerow.stores.memory.steps import push
from duerow.stores.records import whole_set


def join(state: State, now: datetime, record: Record, join: Joined) -> End | DuerowError:
    """Add a message to its set; return how its turn ends, or why it is refused."""
    place = (join.sets, join.correlation)
    set_id, closed_until = state.sets.get(place, (None, None))
    if (late := late_end(join, closed_until, now)) is not None:
        return late
    known = None if set_id is None else state.records.get(set_id)
    if known is not None and known.queue != join.sets:  # an operator moved the set away
        known = None
    outcome = grown(join, record, {} if known is None else state.parts.get(known.id, {}))
    if not isinstance(outcome, Grown):
        return outcome
    if known is None:
        if set_id is not None:
            state.assign(state.parts, set_id, None)
        set_id = push(state, now, [first_entry(join)], "ignore")[0].id
        known = state.records[set_id]
        state.assign(state.sets, place, (set_id, None))
    state.assign(state.parts, known.id, outcome.parts)
    if outcome.complete:
        _close(state, now, known, join.correlation, join.remembered)
    return joined(join, record, known.id)


def close(state: State, now: datetime, record: Record, closed: Closed) -> None:
    """Complete a set with the parts that have arrived."""
    _close(state, now, record, closed.correlation, closed.remember)


def _close(state: State, now: datetime, record: Record, correlation: str, remember: timedelta | None) -> None:
    place = (record.queue, correlation)
    state.put(whole_set(record, correlation, in_order(state.parts.get(record.id, {})), now))
    state.assign(state.parts, record.id, None)
    if state.sets.get(place, (None, None))[0] in (record.id, None):
        state.assign(state.sets, place, (None, now + remember) if remember else None)
    for known, (set_id, until) in list(state.sets.items()):
        if set_id is None and until is not None and until <= now:
            state.assign(state.sets, known, None)
