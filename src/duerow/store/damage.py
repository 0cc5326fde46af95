"""Stored messages with values that no version of duerow wrote: how to detect them and repair them for display.

Other programs can write anything to a database: times out of range, invalid text, a number instead of a name. Such a
message is still read, along with what is wrong with it, so that it can be buried, shown and removed while other
messages are processed as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, get_args

import msgspec

from duerow.clock import FIRST, LAST
from duerow.errors import shown
from duerow.message import LIVE, PRIORITIES, Status
from duerow.store.writes import Record

ABSENT: Final = object()
"""Stands for a missing value of a field that every message must have."""

UNFIT: Final = (TypeError, ValueError, OverflowError, AttributeError)
"""The errors that a value of the wrong type or out of bounds can raise."""


class Garbled(str):
    """Text that is not UTF-8, with its invalid bytes shown as escapes."""


class _Field(NamedTuple):
    """The type of a message's field, and what replaces a value that cannot be shown."""

    type: type
    optional: bool
    instead: Any


_FIELDS: Final = {
    "id": _Field(object, False, 0),  # in a user's own table, any primary key
    "queue": _Field(str, False, ""),
    "payload": _Field(str, False, ""),
    "kind": _Field(str, False, ""),
    "key": _Field(str, True, None),
    "headers": _Field(str, True, None),
    "group": _Field(str, True, None),
    "priority": _Field(int, False, 0),
    "status": _Field(str, False, ""),
    "due_at": _Field(datetime, True, None),
    "first_due_at": _Field(datetime, True, FIRST),
    "attempts": _Field(int, False, 0),
    "token": _Field(int, False, 0),
    "leased_by": _Field(str, True, None),
    "leased_until": _Field(datetime, True, None),
    "created_at": _Field(datetime, True, FIRST),
    "last_attempt_at": _Field(datetime, True, None),
    "last_error": _Field(str, True, None),
}
_STATUSES: Final = frozenset(get_args(Status))
_SHOWN: Final = ("payload", "kind", "status", "leased_by", "last_error")
"""Fields whose damaged values are shown as text, as far as possible."""


class Shapes:
    """Checks that each value of a row has a type that its column allows; shapes that passed are cached.

    Args:
        allowed: the types of each column; None: any.
    """

    def __init__(self, *allowed: frozenset[type] | None) -> None:
        self._allowed = allowed
        self._sound: set[tuple[type, ...]] = set()

    def fit_all(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return whether all of these rows have valid types."""
        return {tuple(map(type, row)) for row in rows} <= self._sound or all(map(self.fit, rows))

    def fit(self, row: Sequence[Any]) -> bool:
        """Return whether a row has valid types."""
        shape = tuple(map(type, row))
        if shape in self._sound:
            return True
        if all(map(_is_in, shape, self._allowed)):
            self._sound.add(shape)
            return True
        return False


def _is_in(one: type, allowed: frozenset[type] | None) -> bool:
    return allowed is None or one in allowed


def _allowed(field: _Field) -> frozenset[type] | None:
    if field.type is object:
        return None
    return frozenset((field.type, type(None)) if field.optional else (field.type,))


_SOUND: Final = Shapes(*map(_allowed, _FIELDS.values()))


def examined(values: Sequence[Any], lent: bool = False) -> Record:
    """Return a message made from the values of its fields; damaged values are repaired and the damage is noted."""
    if _SOUND.fit(values):
        record = Record(*values)
        if _misfit(record, lent) is None:
            return record
    return mended(values, lent)


def mended(values: Sequence[Any], lent: bool = False) -> Record:
    """Return a message made from whatever its fields hold; invalid values are left out or shown as text.

    Args:
        values: the values in the order of the fields of `Record`, with times as datetimes.
        lent: whether it was just handed out; then it must have an attempt and be neither done nor dead.
    """
    fit: dict[str, Any] = {}
    damage: list[str] = []
    for (name, field), value in zip(_FIELDS.items(), values, strict=True):
        if value is not ABSENT and isinstance(value, field.type) and not isinstance(value, bool | Garbled):
            fit[name] = value
        elif value is None and field.optional:
            fit[name] = None
        else:
            fit[name] = _shown(name, field, value)
            damage.append(f"its {name} {_wrong(field, value)}")
    record = Record(**fit)
    misfit = _misfit(record, lent)
    damage += [] if misfit is None else [misfit]
    if not damage:
        return record
    return msgspec.structs.replace(record, damage=f"the stored row is damaged: {', '.join(damage)}")


def _misfit(record: Record, lent: bool) -> str | None:
    """Return what is wrong with the first value that has the right type but is invalid."""
    for name in ("due_at", "first_due_at", "leased_until", "created_at", "last_attempt_at"):
        at = getattr(record, name)
        if at is not None and not FIRST < at < LAST:
            return f"its {name} is {'before' if at <= FIRST else 'after'} the years that duerow supports"
    if record.status not in (LIVE if lent else _STATUSES):
        return "its status is not that of a waiting message" if lent else f"its status is {shown(record.status)}"
    if record.attempts < lent:
        return "its attempts are below 0"
    if record.priority not in PRIORITIES:
        return f"its priority is {record.priority}"
    return None


def _wrong(field: _Field, value: object) -> str:
    if value is None or value is ABSENT:
        return "is missing"
    if isinstance(value, Garbled):
        return "is text that is not UTF-8"
    return f"is {type(value).__name__}, not {field.type.__name__}"


def _shown(name: str, field: _Field, value: object) -> Any:
    """Return what to show for an invalid value; an integer token is kept, because it still fences writes."""
    if value is None or value is ABSENT:
        return field.instead
    if name == "token" and isinstance(value, float):
        return value
    if name not in _SHOWN:
        return field.instead
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
