"""The columns of frame stations, as stored with a pipeline, and the changes to them that older messages may not fit.

Columns are stored as text, so that programs can compare them without Spark. Each is stored under its path, such as
`lines[].price`, as its type, followed by `not null` and `required` if a declared type demands that.
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
"""The suffix of a field's type if the declared type does not allow null."""

REQUIRED: Final = " required"
"""The suffix of a field's type if every payload of the declared type must have the field."""

_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
}
"""For each type, the wider types that can hold all of its values unchanged."""

_DIGITS: Final[Mapping[str, int]] = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""How many digits a decimal needs to hold every value of an integer type."""

_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")


class ColumnChange(msgspec.Struct, frozen=True):
    """A column of a frame station that has changed.

    Attributes:
        station: the station.
        path: the column, or the field within it.
        before: its old type; None if the column is new.
        after: its new type; None if the column was removed.
        fits: whether older messages can still be read in the same way.
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
        return f"{self.path} was {self.before} and is now {self.after}"


def with_known_columns(before: Graph | None, after: Graph) -> Graph:
    """Return the new graph, taking from the stored one the columns that this program could not determine."""
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

    If a station now declares a type with a different name, its columns do not count as changed: messages of the old
    type go through its upgrade, or wait for a consumer that knows that type.

    Args:
        before: the stored graph; None if there is none.
        after: the new graph.
        stations: the stations of the new graph.
    """
    known = {} if before is None else {node.name: node for node in before.stations}
    frames = {one.name: one for one in stations if isinstance(one, Frame)}
    pairs = [(known[node.name], node) for node in after.stations if node.name in known and node.name in frames]
    return [change for was, now in pairs for change in _of_station(frames[now.name], was, now)]


def _of_station(station: Frame, before: Node, after: Node) -> Iterator[ColumnChange]:
    if not before.columns or not after.columns:
        return  # unknown, or the payload is text, whose structure can be anything
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
        if was is None or now is None or plain(was) != plain(now):
            parents.append(path)  # its nested fields are not reported separately
        yield ColumnChange(station.name, path, was, now, _fits(station, was, now))


def _fits(station: Frame, before: str | None, after: str | None) -> bool:
    """Whether every older value fits the changed column and is read as the same value."""
    if after is None:
        return False
    if before is None:
        return REQUIRED not in after
    if any(mark in after and mark not in before for mark in (NOT_NULL, REQUIRED)):
        return False
    return _is_as_wide(plain(before), plain(after), given=station.schema is not None)


def _is_as_wide(before: str, after: str, given: bool) -> bool:
    """Whether one type has all values of another.

    Args:
        before: the other type.
        after: the type that must have them all.
        given: whether it comes from `schema=`, which reads a date as a time; a declared type does not.
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


def plain(of: str) -> str:
    """Return a column's type without its marks."""
    return of.removesuffix(REQUIRED).removesuffix(NOT_NULL)
