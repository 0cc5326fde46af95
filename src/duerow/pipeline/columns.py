"""The columns of frame stations, as they are stored with a pipeline, and which changes may leave messages behind.

Columns are stored as text, so that no program needs Spark to compare them: each by its path, such as `lines[].price`,
with its type, followed by `not null` and `required` where a declared type has such fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from duerow.payload.codec import JSON
from duerow.pipeline.frame import Frame
from duerow.pipeline.graph import Graph, Node
from duerow.pipeline.stations import Station

NOT_NULL: Final = " not null"
"""Ends the type of a field that a declared type does not allow to be null."""

REQUIRED: Final = " required"
"""Ends the type of a field without which a payload does not fit its declared type."""

_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
}
"""The types that hold every value of a type, and read it as the same value."""

_DIGITS: Final[Mapping[str, int]] = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""How many digits a decimal needs to hold every value of a type."""

_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")


class ColumnChange(msgspec.Struct, frozen=True):
    """A column of a frame station that is not what it was.

    Attributes:
        station: the station.
        path: the column, or the field within it.
        before: its type until now; None: there was none.
        after: its type from now on; None: it is gone.
        fits: whether messages from before the change can be read as before.
    """

    station: str
    path: str
    before: str | None
    after: str | None
    fits: bool

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path} ({self.after}) is new"
        if self.after is None:
            return f"{self.path} ({self.before}) is gone"
        return f"{self.path} was {self.before} and is {self.after}"


def with_known_columns(before: Graph | None, after: Graph) -> Graph:
    """Return a graph with the stored columns of those frame stations whose columns this program could not find out."""
    if before is None:
        return after
    known = {node.name: node for node in before.stations}
    return replace(after, stations=tuple(_with_known(known.get(node.name), node) for node in after.stations))


def _with_known(before: Node | None, after: Node) -> Node:
    if before is None or after.columns is not None or (before.kind, before.payload) != (after.kind, after.payload):
        return after
    return replace(after, columns=before.columns)


def column_changes(before: Graph | None, after: Graph, stations: Iterable[Station]) -> list[ColumnChange]:
    """Return how the columns of frame stations have changed.

    If a station declares a type of another name than before, nothing has changed: the messages of the old type go
    through its upgrade, or wait for a consumer that knows them.

    Args:
        before: the stored graph; None: there is none.
        after: the new one.
        stations: the stations of the new one.
    """
    known = {} if before is None else {node.name: node for node in before.stations}
    frames = {one.name: one for one in stations if isinstance(one, Frame)}
    pairs = [(known[node.name], node) for node in after.stations if node.name in known and node.name in frames]
    return [change for was, now in pairs for change in _of_station(frames[now.name], was, now)]


def _of_station(station: Frame, before: Node, after: Node) -> Iterator[ColumnChange]:
    if not before.columns or not after.columns:
        return  # they are not known, or the payload is text, which has any structure
    if before.payload and after.payload and before.payload != after.payload:
        return
    upgraded = (before.payload or JSON) in _upgraded(station)
    for change in _changes(station, before.columns, after.columns):
        yield replace(change, fits=change.fits or upgraded)


def _upgraded(station: Station) -> set[str]:
    """Return the kinds of payloads for which a station has an upgrade."""
    return {takes if isinstance(takes, str) else takes.__name__ for takes in station.upgrades or {}}


def _changes(station: Frame, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[ColumnChange]:
    parents: list[str] = []
    for path in sorted({*before, *after}):
        was, now = before.get(path), after.get(path)
        if was == now or any(path.startswith((f"{parent}.", f"{parent}[")) for parent in parents):
            continue
        if was is None or now is None or _plain(was) != _plain(now):
            parents.append(path)  # what is within goes with it
        yield ColumnChange(station.name, path, was, now, _fits(station, was, now))


def _fits(station: Frame, before: str | None, after: str | None) -> bool:
    """Whether each value from before the change fits the column, and is read as the same value."""
    if after is None:
        return False
    if before is None:
        return REQUIRED not in after
    if any(mark in after and mark not in before for mark in (NOT_NULL, REQUIRED)):
        return False
    return _is_as_wide(_plain(before), _plain(after), given=station.schema is not None)


def _is_as_wide(before: str, after: str, given: bool) -> bool:
    """Whether a type has all values of another one.

    Args:
        before: the other one.
        after: the type.
        given: whether it is from `schema=`, which reads a date as a time; a declared type does not.
    """
    if before == after or after in _WIDER.get(before, ()):
        return True
    if before == "date":
        return given and after in ("timestamp", "timestamp_ntz")
    wide = _DECIMAL.fullmatch(after)
    if wide is None:
        return False
    precision, scale = map(int, wide.groups())
    if before in _DIGITS:
        return precision - scale >= _DIGITS[before]
    narrow = _DECIMAL.fullmatch(before)
    if narrow is None:
        return False
    digits, places = map(int, narrow.groups())
    return scale >= places and precision - scale >= digits - places


def _plain(of: str) -> str:
    return of.removesuffix(REQUIRED).removesuffix(NOT_NULL)
