"""Keep the sets of joins in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from duerow.errors import DuerowError
from duerow.store import Closed, End, Entry, Joined, Record
from duerow.stores import join_sets
from duerow.stores.join_sets import SetPlace, SetState
from duerow.stores.memory.state import State
from duerow.stores.memory.steps import push

_NO_SET: SetState = (None, None)


def join(state: State, now: datetime, record: Record, join: Joined) -> End | DuerowError:
    """Add a message to its set; return how its turn ends, or why it is refused."""
    return join_sets.join(_Sets(state, now), record, join)


def close(state: State, now: datetime, record: Record, closed: Closed) -> None:
    """Complete a set with the parts that have arrived."""
    join_sets.complete(_Sets(state, now), record, closed.correlation, closed.remember)


class _Sets:
    """The sets stored in a state; see `JoinSets`."""

    def __init__(self, state: State, now: datetime) -> None:
        self._state, self.now = state, now

    def set_at(self, place: SetPlace) -> SetState:
        return self._state.sets.get(place, _NO_SET)

    def message(self, id_: int) -> Record | None:
        return self._state.records.get(id_)

    def parts_of(self, set_id: int) -> Mapping[int, str]:
        return self._state.parts.get(set_id, {})

    def begin(self, entry: Entry) -> Record:
        return self._state.records[push(self._state, self.now, [entry], "ignore")[0].id]

    def add(self, place: SetPlace, set_id: int, part_id: int, parts: dict[int, str]) -> None:
        self._state.assign(self._state.parts, set_id, parts)

    def empty(self, set_id: int) -> None:
        self._state.assign(self._state.parts, set_id, None)

    def put(self, record: Record) -> None:
        """Store the message of a complete set, and forget sets that were remembered long enough."""
        self._state.put(record)
        for place, (set_id, until) in list(self._state.sets.items()):
            if set_id is None and until is not None and until <= self.now:
                self._state.assign(self._state.sets, place, None)

    def change(self, place: SetPlace, state: SetState) -> None:
        self._state.assign(self._state.sets, place, None if state == _NO_SET else state)
