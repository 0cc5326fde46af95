"""Add parts to sets and complete sets, for stores that compute changes in Python."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol

from duerow.errors import DuerowError
from duerow.store import End, Entry, Joined, Record
from duerow.store.join_sets import Grown, first_entry, grown, in_order, joined, late_end
from duerow.stores.records import whole_set

SetPlace = tuple[str, str]
"""The queue and the correlation of a set."""

SetState = tuple[int | None, datetime | None]
"""The id of an incomplete set's message, and the time until which a complete set is remembered; each may be None."""


class JoinSets(Protocol):
    """The sets of a store, which the functions of this module read and change."""

    @property
    def now(self) -> datetime:
        """The time of the change."""

    def set_at(self, place: SetPlace) -> SetState:
        """Return the state of a set."""

    def message(self, id_: int) -> Record | None:
        """Return the message with this id; None if there is none."""

    def parts_of(self, set_id: int) -> Mapping[int, str]:
        """Return the parts of the set that has this message."""

    def begin(self, entry: Entry) -> Record:
        """Push the message of a new set, and return it."""

    def add(self, place: SetPlace, set_id: int, part_id: int, parts: dict[int, str]) -> None:
        """Store the parts of a set after one was added."""

    def empty(self, set_id: int) -> None:
        """Delete the parts of a set."""

    def put(self, record: Record) -> None:
        """Store a message."""

    def change(self, place: SetPlace, state: SetState) -> None:
        """Store the state of a set."""


def join(sets: JoinSets, record: Record, turn: Joined) -> End | DuerowError:
    """Add a message to its set; return how its turn ends, or why it is refused."""
    place = (turn.sets, turn.correlation)
    set_id, closed_until = sets.set_at(place)
    if (late := late_end(turn, closed_until, sets.now)) is not None:
        return late
    known = None if set_id is None else sets.message(set_id)
    if known is not None and known.queue != turn.sets:  # an operator moved the set away
        known = None
    outcome = grown(turn, record, {} if known is None else sets.parts_of(known.id))
    if not isinstance(outcome, Grown):
        return outcome
    if known is None:
        if set_id is not None:
            sets.empty(set_id)
        known = sets.begin(first_entry(turn))
        sets.change(place, (known.id, None))
    sets.add(place, known.id, record.id, outcome.parts)
    if outcome.complete:
        complete(sets, known, turn.correlation, turn.remembered)
    return joined(turn, record, known.id)


def complete(sets: JoinSets, record: Record, correlation: str, remember: timedelta | None) -> None:
    """Turn the message of a set into a message with all parts that have arrived."""
    place = (record.queue, correlation)
    sets.put(whole_set(record, correlation, in_order(sets.parts_of(record.id)), sets.now))
    sets.empty(record.id)
    set_id, closed_until = sets.set_at(place)
    if set_id in (record.id, None):
        closed_until = sets.now + remember if remember else None
        set_id = None
    sets.change(place, (set_id, closed_until))
