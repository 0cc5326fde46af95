"""Imports from another database: messages and finished turns, each exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from duerow.message import LIVE
from duerow.store import Arrival, HistoryRow, Reception, Record
from duerow.store.bulk import REFUSED
from duerow.stores.memory import batches
from duerow.stores.memory.state import State


def receive(
    state: State, now: datetime, arrivals: Sequence[Arrival], history: timedelta, final: bool
) -> list[Reception]:
    """Import messages and bare names first, then turns; a turn is refused if its message is."""
    old_ids = sorted({one.what.id for one in arrivals if one.what is not None})
    ids = {old_id: state.next_id() for old_id in old_ids}
    answers: dict[int, Reception] = {}
    for place, one in enumerate(arrivals):
        if not isinstance(one.what, HistoryRow):
            answers[place] = _receive_message(state, now, one, ids, final)
    kept_out = {
        one.what.id
        for place, one in enumerate(arrivals)
        if isinstance(one.what, Record) and answers[place] == "refused"
    }
    for place, one in enumerate(arrivals):
        if isinstance(one.what, HistoryRow):
            answers[place] = "refused" if one.what.id in kept_out else "before"
            if one.what.id not in kept_out and batches.note(state, now, one.name):
                state.note(replace(one.what, id=ids[one.what.id]), one.what.finished_at + history)
                answers[place] = "arrived"
    return [answers[place] for place in range(len(arrivals))]


def _receive_message(state: State, now: datetime, arrival: Arrival, ids: dict[int, int], final: bool) -> Reception:
    if not batches.note(state, now, arrival.name):
        return "refused" if arrival.name + REFUSED in state.noted else "before"
    if not isinstance(arrival.what, Record):
        return "arrived"
    record = arrival.what
    if record.status in LIVE and state.holder(record.queue, record.key) is not None:
        state.assign(state.noted, arrival.name + REFUSED if final else arrival.name, now if final else None)
        return "refused"
    state.put(replace(record, id=ids[record.id], leased_by=None, leased_until=None))
    return "arrived"
