"""Conditions as SQL, in three-valued logic; null becomes false before it is negated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import ceil, floor, inf, isfinite, nextafter
from operator import eq, ge, gt, le, lt
from typing import Any, Final, TypeVar

from sqlalchemy import BigInteger, ColumnElement, Table, Text, and_, collate, false, func, literal, not_, or_

from duerow.conditions.fields import KINDS, Path
from duerow.conditions.model import Compare, Condition, Every, In, IsNull, Like, Not, Operator, Some, Value, conjuncts
from duerow.store import Indexed, IndexKind
from duerow.stores.sql.dialects.base import LONGEST_KEY, Dialect, Member

N = TypeVar("N", int, float)

_LEAST_INTEGER, _MOST_INTEGER = -(1 << 63), (1 << 63) - 1
_COMPARES: Final[dict[Operator, Callable[[Any, Any], Any]]] = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}

_OR_EQUAL: Final[dict[Operator, Operator]] = {"=": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}


class Conditions:
    """Writes conditions on the rows of one table as SQL; all values are bound.

    Args:
        dialect: the dialect of the SQL.
        table: the table of messages, or of finished turns.
        indexed: the indexed payload fields, with the names of their indexes.
        in_line: whether all rows are in line; if so, no row has its due time in another column.
    """

    def __init__(
        self, dialect: Dialect, table: Table, indexed: Mapping[str, Indexed] | None = None, in_line: bool = False
    ) -> None:
        self.dialect, self.table, self._in_line = dialect, table, in_line
        named = (indexed or {}).items()
        self._kinds = {("payload", *field.path): field.kind for _, field in named}
        self._names = {("payload", *field.path): name for name, field in named}

    def clause(self, condition: Condition, negated: bool = False) -> ColumnElement[bool]:
        """Return a condition, or its negation, as SQL.

        Negations are moved inward to the comparisons, so databases never evaluate nested negations. A condition
        without negations keeps a form that indexes can serve.
        """
        match condition:
            case Not(term):
                return self.clause(term, not negated)
            case Every(terms) | Some(terms):
                together = and_ if isinstance(condition, Every) is not negated else or_
                return together(*(self.clause(term, negated) for term in terms))
            case IsNull(path):
                absent = self._absent(path)
                return not_(absent) if negated else absent
        test = self._test(condition)
        if negated:
            return not_(func.coalesce(test, false()))
        roughly = self._roughly(condition)
        return test if roughly is None else and_(roughly, test)

    def is_served(self, condition: Condition) -> bool:
        """Return whether the index of a payload field can find the rows that match the condition."""
        return any(self._roughly(term) is not None for term in conjuncts(condition))

    def is_of_range(self, condition: Condition) -> bool:
        """Return whether an index serves the condition only as a range, and so does not return rows in order of id."""
        served = [term for term in conjuncts(condition) if self._roughly(term) is not None]
        return bool(served) and not any(isinstance(term, Compare) and term.operator == "=" for term in served)

    def _roughly(self, condition: Condition) -> ColumnElement[bool] | None:
        """Return a wider condition that the index of the field serves; None if there is no index.

        It matches every row that the condition matches, and perhaps more, so the values in the index need not be exact.
        """
        match condition:
            case Compare(path, operator, value) if path in self._kinds:
                return self._roughly_compared(path, operator, [value])
            case In(path, values) if path in self._kinds and values:
                return self._roughly_compared(path, "=", values)
        return None

    def _roughly_compared(self, path: Path, operator: Operator, values: Sequence[Value]) -> ColumnElement[bool] | None:
        kind = self._kinds[path]
        if not all(_is_of(kind, value) for value in values):
            return None
        key = self.dialect.indexed_key(self.table, self._names[path], path[1:], kind)
        match kind:
            case "text":
                bounds = [literal(str(value)[:LONGEST_KEY], Text()) for value in values]
                return _any_of(key, _OR_EQUAL[operator], bounds)
            case "boolean":
                words = [literal("true" if value else "false", Text()) for value in values]
                return _any_of(key, operator, words)
        numbers = [self._near(operator, value) for value in values if isinstance(value, int | float)]
        known = [number for number in numbers if number is not None]
        return _any_of(key, _OR_EQUAL[operator], known) if len(known) == len(numbers) else None

    def _near(self, operator: Operator, value: int | float) -> ColumnElement[Any] | None:
        """Return the number to look up in an index; for a range, a bound safely outside it; None if there is none.

        Databases differ in the last bit of the floats that they parse, and an index stores each integer as the
        nearest float.
        """
        if operator == "=":
            return self.dialect.key_of(value)
        outwards = inf if operator in ("<", "<=") else -inf
        bound = nextafter(nextafter(nextafter(float(value), outwards), outwards), outwards)
        return self.dialect.key_of(bound) if isfinite(bound) else None

    def value(self, path: Path) -> ColumnElement[Any]:
        """Return the value to count by: a column, or text for `Dialect.read_json`."""
        return self.column(path[0]) if path[0] in KINDS else self._member(path).json

    def column(self, name: str) -> ColumnElement[Any]:
        """Return the column of a field; text sorts by code point.

        A message that waits for its group has its due time in another column.
        """
        column: ColumnElement[Any] = self.table.c[name]
        if name == "due_at" and "behind_at" in self.table.c and not self._in_line:
            return func.coalesce(column, self.table.c.behind_at, type_=self.dialect.moment)
        return collate(column, self.dialect.bytewise) if KINDS.get(name) == "text" else column

    def bound(self, name: str, value: Any) -> ColumnElement[Any]:
        """Return a bound value for the column of a message field."""
        match KINDS[name]:
            case "moment":
                return literal(self.dialect.write_moment(value), self.dialect.moment)
            case "integer":
                return literal(value, BigInteger())
        return literal(value, Text())

    def _absent(self, path: Path) -> ColumnElement[bool]:
        return self.column(path[0]).is_(None) if path[0] in KINDS else self._member(path).absent

    def _test(self, condition: Condition) -> ColumnElement[bool]:
        """Return a comparison; it is null where the value is missing or of another type."""
        match condition:
            case Compare(path, operator, value):
                return self._compared(path, operator, [value])
            case In(path, values):
                return self._compared(path, "=", values)
            case Like(path, pattern):
                text = self._text(path)
                return false() if text is None else self.dialect.like(text, pattern)
        raise AssertionError(f"{condition!r} is not a condition")

    def _text(self, path: Path) -> ColumnElement[Any] | None:
        if path[0] in KINDS:
            return self.column(path[0]) if KINDS[path[0]] == "text" else None
        return self._member(path).text

    def _compared(self, path: Path, operator: Operator, values: Sequence[Value]) -> ColumnElement[bool]:
        """Return the comparison of the value at a path with any of these values."""
        texts = [literal(value, Text()) for value in values if isinstance(value, str)]
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        root = path[0]
        match KINDS.get(root):
            case "text":
                # Equality needs no order, and an index can serve the plain column.
                column = self.table.c[root] if operator == "=" else self.column(root)
                return _any_of(column, operator, texts)
            case "integer":
                return _whole(self.table.c[root], operator, numbers)
            case "moment":
                moments = [self.bound(root, value) for value in values if isinstance(value, datetime)]
                return _any_of(self.column(root), operator, moments)
        member = self._member(path)
        # As text, false sorts before true.
        words = [literal("true" if value else "false", Text()) for value in values if isinstance(value, bool)]
        tests: list[ColumnElement[bool]] = []
        if texts:
            tests.append(_any_of(member.text, operator, texts))
        if words:
            tests.append(_any_of(member.boolean, operator, words))
        if numbers:
            tests.append(_whole(member.whole, operator, numbers))
            tests.append(self._real(member.real, operator, numbers))
        return or_(false(), *tests)

    def _real(
        self, found: ColumnElement[Any], operator: Operator, values: Sequence[int | float]
    ) -> ColumnElement[bool]:
        """Return the exact comparison of a float with any of these numbers; they may be integers."""
        bounds = [_limit(operator, value, _float_below, _float_above) for value in values]
        return _any_of(found, operator, [self.dialect.real(bound) for bound in bounds if bound is not None])

    def _member(self, path: Path) -> Member:
        return self.dialect.member(self.table.c[path[0]], path[1:])


def _is_of(kind: IndexKind, value: Value) -> bool:
    """Return whether an index of this kind can contain the value."""
    if isinstance(value, bool):
        return kind == "boolean"
    return kind == "text" if isinstance(value, str) else kind in ("integer", "float") and isinstance(value, int | float)


def asked_statuses(condition: Condition | None) -> frozenset[Value] | None:
    """Return the statuses to which a condition restricts messages; None if it does not restrict them."""
    asked: frozenset[Value] | None = None
    for term in () if condition is None else conjuncts(condition):
        match term:
            case Compare(("status",), "=", value):
                these = frozenset((value,))
            case In(("status",), values):
                these = frozenset(values)
            case _:
                continue
        asked = these if asked is None else asked & these
    return asked


def _any_of(found: ColumnElement[Any], operator: Operator, bounds: Sequence[ColumnElement[Any]]) -> ColumnElement[bool]:
    """Return the comparison of a value with any of these bounds, which all have the value's type."""
    if not bounds:
        return false()
    if len(bounds) == 1:
        return _COMPARES[operator](found, bounds[0])  # type: ignore[no-any-return]
    return found.in_(bounds)


def _whole(found: ColumnElement[Any], operator: Operator, values: Sequence[int | float]) -> ColumnElement[bool]:
    """Return the exact comparison of an integer with any of these numbers; they may be floats."""
    bounds = [bound for value in values if (bound := _limit(operator, value, _whole_below, _whole_above)) is not None]
    within = [bound for bound in bounds if _LEAST_INTEGER <= bound <= _MOST_INTEGER]
    if bounds and not within and operator != "=":
        # All 64-bit integers are on the same side of a bound outside their range; null stays null.
        return found.is_not(None) if _COMPARES[operator](0, bounds[0]) else false()
    return _any_of(found, operator, [literal(bound, BigInteger()) for bound in within])


def _limit(
    operator: Operator, value: int | float, below: Callable[[int | float], N], above: Callable[[int | float], N]
) -> N | None:
    """Return the bound of the other type that gives the same comparison; None if no number of that type can be equal.

    Args:
        operator: the comparison; for example, an integer that is less than 2.5 is less than 3.
        value: the number to compare with.
        below: returns the largest number of the type that is not greater than a value.
        above: returns the smallest number of the type that is not less than a value.
    """
    match operator:
        case "<=" | ">":
            return below(value)
        case "<" | ">=":
            return above(value)
    return below(value) if below(value) == value else None


def _whole_below(value: int | float) -> int:
    return floor(value)


def _whole_above(value: int | float) -> int:
    return ceil(value)


def _float_below(value: int | float) -> float:
    near = float(value)
    return near if near <= value else nextafter(near, -inf)


def _float_above(value: int | float) -> float:
    near = float(value)
    return near if near >= value else nextafter(near, inf)
