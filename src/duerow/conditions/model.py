"""The parts of conditions: frozen values that every store understands, checked when they are created."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from math import isfinite
from typing import Any, Final, Literal, NoReturn

from duerow.conditions.fields import (
    KINDS,
    Path,
    Subject,
    check_comparable,
    check_path,
    check_subject,
    check_text,
    path_text,
)
from duerow.errors import InvalidCondition, InvalidMessage, shown
from duerow.message import check_moment

Value = str | int | float | bool | datetime

Operator = Literal["=", "<", "<=", ">", ">="]
OPERATORS: Final[tuple[Operator, ...]] = ("=", "<", "<=", ">", ">=")


DEEPEST: Final = 16
"""How deep `and` and `or` may be nested; `not` does not count."""

MOST_PARTS: Final = 200
"""How many comparisons a condition may have."""

MOST_VALUES: Final = 1_000
"""How many values an `in` may have."""

MOST_VALUES_IN_ALL: Final = 10_000
"""How many values a condition may have: each may be bound three times, and only SQL Server takes fewer than 32,766."""

LONGEST_PATTERN: Final = 1_000
"""How many characters a `like` pattern may have."""


_LEAST_INTEGER, _MOST_INTEGER = -(1 << 63), (1 << 63) - 1


class Condition:
    """A condition on messages. It is combined with `&`, `|` and `~`, and printed as text that `parse` reads back.

    Attributes:
        depth: how deep it is nested; a comparison alone has depth 1.
        parts: how many comparisons it has.
        number: how many values it compares with in total.
    """

    depth: int
    parts: int
    number: int

    def __and__(self, other: Condition) -> Condition:
        return every(self, other)

    def __or__(self, other: Condition) -> Condition:
        return some(self, other)

    def __invert__(self) -> Condition:
        return negation(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("combine conditions with &, | and ~ (in parentheses), not with and, or, not")

    @abstractmethod
    def __str__(self) -> str: ...


class Leaf(Condition):
    """A condition on one field."""

    depth = 1
    parts = 1
    number = 1


@dataclass(frozen=True)
class Compare(Leaf):
    """The value at a path, compared with a given value by an operator."""

    path: Path
    operator: Operator
    value: Value

    def __str__(self) -> str:
        return f"{path_text(self.path)} {self.operator} {_value_text(self.value)}"


@dataclass(frozen=True)
class In(Leaf):
    """The value at a path equals one of the given values."""

    path: Path
    values: tuple[Value, ...]

    @property
    def number(self) -> int:  # type: ignore[override]
        """How many values it compares with."""
        values: object = self.values  # anything may have been given; what is not a tuple is refused elsewhere
        return len(values) if isinstance(values, Sized) else 1

    def __str__(self) -> str:
        return f"{path_text(self.path)} in ({', '.join(map(_value_text, self.values))})"


@dataclass(frozen=True)
class Like(Leaf):
    """The value at a path is text that matches the pattern."""

    path: Path
    pattern: str

    def __str__(self) -> str:
        return f"{path_text(self.path)} like {_value_text(self.pattern)}"


@dataclass(frozen=True)
class IsNull(Leaf):
    """The value at a path is missing or null."""

    path: Path

    def __str__(self) -> str:
        return f"{path_text(self.path)} is null"


@dataclass(frozen=True)
class Group(Condition):
    """Several conditions in one; made by `every` and `some`."""

    terms: tuple[Condition, ...]

    def __post_init__(self) -> None:
        terms: object = self.terms
        if not isinstance(terms, tuple) or not terms:
            raise InvalidCondition(f"`and` and `or` take a tuple of conditions, at least one, not {shown(self.terms)}")
        for term in self.terms:
            _condition(term)
        if self.depth > DEEPEST:
            raise InvalidCondition(f"the condition is nested more than {DEEPEST} deep; flatten it")
        if self.parts > MOST_PARTS:
            raise InvalidCondition(
                f"the condition has more than {MOST_PARTS} comparisons; use `in` for many values of one field"
            )

        if self.number > MOST_VALUES_IN_ALL:
            raise InvalidCondition(
                f"the condition compares with {self.number:,} values in all; at most {MOST_VALUES_IN_ALL:,} are "
                "allowed: split it"
            )

    @cached_property
    def number(self) -> int:  # type: ignore[override]
        """How many values it compares with in total."""
        return sum(term.number for term in self.terms)

    @cached_property
    def depth(self) -> int:  # type: ignore[override]
        """How deep it is nested."""
        return 1 + max(term.depth for term in self.terms)

    @cached_property
    def parts(self) -> int:  # type: ignore[override]
        """How many comparisons it has."""
        return sum(term.parts for term in self.terms)


@dataclass(frozen=True)
class Every(Group):
    """Two or more conditions that must all hold."""

    def __str__(self) -> str:
        return " and ".join(f"({term})" if isinstance(term, Some) else str(term) for term in self.terms)


@dataclass(frozen=True)
class Some(Group):
    """Two or more conditions of which at least one must hold."""

    def __str__(self) -> str:
        return " or ".join(map(str, self.terms))


@dataclass(frozen=True)
class Not(Condition):
    """The negation of a condition."""

    term: Condition

    @cached_property
    def depth(self) -> int:  # type: ignore[override]
        """How deep it is nested; a negation adds nothing, since it can be pushed down to the comparisons."""
        return self.term.depth

    @cached_property
    def parts(self) -> int:  # type: ignore[override]
        """How many comparisons it has."""
        return self.term.parts

    @cached_property
    def number(self) -> int:  # type: ignore[override]
        """How many values it compares with in total."""
        return self.term.number

    def __str__(self) -> str:
        match self.term:
            case Compare(path, "=", value):
                return f"{path_text(path)} != {_value_text(value)}"
            case In(path, values):
                return f"{path_text(path)} not in ({', '.join(map(_value_text, values))})"
            case Like(path, pattern):
                return f"{path_text(path)} not like {_value_text(pattern)}"
            case IsNull(path):
                return f"{path_text(path)} is not null"
        return f"not ({self.term})"


def every(*terms: Condition) -> Condition:
    """Return the condition that all of these hold; nested `and`s are flattened."""
    flat = [part for term in terms for part in conjuncts(_condition(term))]
    return flat[0] if len(flat) == 1 else Every(tuple(flat))


def some(*terms: Condition) -> Condition:
    """Return the condition that one or more of these hold; nested `or`s are flattened."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Some) else (_condition(term),))]
    return flat[0] if len(flat) == 1 else Some(tuple(flat))


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """Return conditions that all hold whenever this one does: the terms of an `and`, or the condition itself."""
    return condition.terms if isinstance(condition, Every) else (condition,)


def negation(term: Condition) -> Condition:
    """Return the condition that this one does not hold; negating a negation gives the original condition."""
    return term.term if isinstance(_condition(term), Not) else Not(term)  # type: ignore[attr-defined]


class Field:
    """A field of messages, to be compared; made by `field`, `payload` and `headers`.

    Further names lead into JSON: `payload.customer.name`, or `payload["odd key"]` for names that are not Python
    identifiers or that this class itself uses.
    """

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Field:
        if name.startswith("__"):  # Python and its tools look these up on every object
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Field:
        return Field(check_path((*self._path, name)))

    def __repr__(self) -> str:
        return f"<Field {path_text(self._path)}>"

    def __hash__(self) -> int:
        return hash(self._path)

    def __eq__(self, value: Any) -> Condition:  # type: ignore[override]
        return self.is_null() if value is None else comparison(self._path, "=", value)

    def __ne__(self, value: Any) -> Condition:  # type: ignore[override]
        return negation(self == value)

    def __lt__(self, value: Any) -> Condition:
        return comparison(self._path, "<", value)

    def __le__(self, value: Any) -> Condition:
        return comparison(self._path, "<=", value)

    def __gt__(self, value: Any) -> Condition:
        return comparison(self._path, ">", value)

    def __ge__(self, value: Any) -> Condition:
        return comparison(self._path, ">=", value)

    def in_(self, values: Iterable[Any]) -> Condition:
        """Return the condition that the value equals one of these."""
        return membership(self._path, values)

    def not_in(self, values: Iterable[Any]) -> Condition:
        """Return the condition that the value equals none of these."""
        return negation(membership(self._path, values))

    def like(self, pattern: str) -> Condition:
        r"""Return the condition that the value matches: `%` is any text, `_` one character, `\` escapes the next."""
        return pattern_match(self._path, pattern)

    def not_like(self, pattern: str) -> Condition:
        """Return the condition that the value is not text that matches this pattern."""
        return negation(pattern_match(self._path, pattern))

    def is_null(self) -> Condition:
        """Return the condition that the value is missing or null."""
        return IsNull(check_comparable(self._path))

    def is_not_null(self) -> Condition:
        """Return the condition that there is a value other than null."""
        return negation(self.is_null())


def path_of(named: Field) -> Path:
    """Return the path of a field; a function, not a method, so that every name can lead into JSON."""
    return named._path


def checked_again(condition: object, about: Subject, depth: int = 0) -> Condition:
    """Return a condition after checking every part of it against its subject, no matter how it was built.

    Raises:
        InvalidCondition: it uses a field that its subject does not have, or is not a duerow condition.
    """
    if depth > 4 * DEEPEST:
        raise InvalidCondition(f"the condition is nested more than {DEEPEST} deep; flatten it")
    match condition:
        case Every(terms) | Some(terms) if len(terms) > 1:
            parts = [checked_again(term, about, depth + 1) for term in terms]
            return every(*parts) if isinstance(condition, Every) else some(*parts)
        case Not(term):
            return negation(checked_again(term, about, depth + 1))
        case Compare(path, operator, value) if operator in OPERATORS:
            return comparison(_of_subject(path, about), operator, value)
        case In(path, values):
            return membership(_of_subject(path, about), values)
        case Like(path, pattern):
            return pattern_match(_of_subject(path, about), pattern)
        case IsNull(path):
            return IsNull(check_comparable(_of_subject(path, about)))
    raise InvalidCondition(f"a condition must be text or made with duerow.where.field, not {shown(condition)}")


def _of_subject(path: object, about: Subject) -> Path:
    if not isinstance(path, tuple) or not path:
        raise InvalidCondition(f"a path must be a tuple of names, not {shown(path)}")
    check_subject(check_path(path), about)
    return path


def comparison(path: Path, operator: Operator, value: Any) -> Condition:
    """Return the comparison of the value at a path with this value; raise InvalidCondition if it can never hold."""
    return Compare(check_comparable(path), operator, _checked(path, value))


def membership(path: Path, values: Iterable[Any]) -> Condition:
    """Return the condition that the value at a path is one of these; raise InvalidCondition if one can never match."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidCondition(f"in takes a list of values, not {shown(values)}")
    try:
        checked = tuple(_checked(path, value) for value in islice(values, MOST_VALUES_IN_ALL + 1))
    except InvalidCondition:
        raise
    except Exception as error:  # the user's code
        raise InvalidCondition(
            f"in takes a list of values, but {shown(values)} fails: {type(error).__name__}"
        ) from error
    if len(checked) > MOST_VALUES:
        raise InvalidCondition(f"in takes at most {MOST_VALUES:,} values, not {len(checked):,}; split the condition")
    return In(check_comparable(path), checked)


def pattern_match(path: Path, pattern: Any) -> Condition:
    """Return the condition that the text at a path matches this pattern; raise InvalidCondition if it is invalid."""
    if KINDS.get(path[0]) == "moment":
        raise InvalidCondition(f"{path[0]} is a time, which like cannot match; compare it with <, <=, > or >=")
    if not isinstance(pattern, str):
        raise InvalidCondition(f"a like pattern must be text, not {shown(pattern)}")
    if len(pattern) > LONGEST_PATTERN:
        raise InvalidCondition(f"a like pattern can have at most {LONGEST_PATTERN:,} characters, not {len(pattern):,}")
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise InvalidCondition(rf"the pattern {shown(pattern)} ends with a single \; write \\ for the character itself")
    return Like(check_comparable(path), check_text(pattern))


def _checked(path: Path, value: Any) -> Value:
    """Return a value to compare a field with; times become aware UTC datetimes."""
    if KINDS.get(path[0]) == "moment":
        return _moment(path[0], value)
    if type(value) is bool:
        return value
    if type(value) is int:
        if not _LEAST_INTEGER <= value <= _MOST_INTEGER:
            raise InvalidCondition(
                f"{path_text(path)} cannot be compared with {shown(value)}: integers are limited to 64 bits"
            )
        return value
    if type(value) is float:
        if not isfinite(value):
            raise InvalidCondition(f"{path_text(path)} cannot be compared with {value}: it is not a finite number")
        return value
    if type(value) is str:
        return check_text(value)
    if value is None:
        raise InvalidCondition(f"a comparison with null is never true; write {path_text(path)} is null")
    raise InvalidCondition(
        f"{path_text(path)} cannot be compared with {shown(value)} ({type(value).__name__}): "
        "use text, a number or a boolean"
    )


def _moment(name: str, value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidCondition(f"{name} is a time, but {shown(value)} is not; write 2026-03-01T12:00:00Z") from None
    try:
        moment = check_moment(name, value)
    except InvalidMessage as error:
        raise InvalidCondition(f"{error}; {name} is compared with a time such as 2026-03-01T12:00:00Z") from None
    if moment is None:
        raise InvalidCondition(f"a comparison with null is never true; write {name} is null")
    return moment


def _condition(term: object) -> Condition:
    if not isinstance(term, Condition):
        raise InvalidCondition(f"only conditions can be combined, not {shown(term)}; put each in parentheses")
    return term


def _value_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f"'{value.astimezone(UTC).isoformat()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
