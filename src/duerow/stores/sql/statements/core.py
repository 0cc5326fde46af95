"""A statement, a statement over rows of bound values, a step, and the names of the columns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.plan import Plan, mapped
from duerow.stores.sql.dialects.base import Dialect

T = TypeVar("T")

ENTRY: Final = ("id", "queue", "key", "kind", "payload", "headers", "group", "priority", "due", "delay")
"""The columns of a message to insert, in the order that `plans` uses."""

ONE: Final = ("queue", "kind", "payload")
"""The columns that have a value in every push of one message."""

RECEIPT: Final = ("id", "token")

IN_LINE: Final = ("queue", "grouped", "priority")
"""What names a line of a queue: see `duerow.stores.sql.priorities`."""

IN_GAP: Final = ("queue", "grouped", "low", "high")
"""What names the priorities between two lines."""

LENT: Final = (
    "id",
    "payload",
    "kind",
    "key",
    "headers",
    "status",
    "created_at",
    "first_due_at",
    "place_at",
    "attempts",
    "token",
    "leased_until",
    "last_error",
)
"""The columns that `reserve` reads, except those that the caller knows; repeated times are null."""

RECORD: Final = (
    "id",
    "queue",
    "payload",
    "kind",
    "key",
    "headers",
    "group",
    "priority",
    "status",
    "due_at",
    "first_due_at",
    "attempts",
    "token",
    "leased_by",
    "leased_until",
    "created_at",
    "last_attempt_at",
    "last_error",
)
"""The columns of a record, in the order of its fields."""

OUTLINE: Final = ("id", "key", "headers", "group", "priority")
"""The columns of a `MessageHeader`, in the order of its fields."""


Parts = Callable[[Mapping[str, Any]], Generator["Step", Any, list[Any]]]
"""Returns the plan of a statement that the database runs as several, given the bound values."""


class Statement:
    """An SQL statement.

    Args:
        element: the statement in SQLAlchemy.
        kept: whether it is used more than once.
        bounded: whether it is a read for people.
        writes: whether a part of it writes, even if it is a SELECT as a whole.

    Attributes:
        element: the statement in SQLAlchemy.
        parts: the plan that runs it, if it takes several statements.
        kept: whether it is used more than once.
        texts: the compiled text for each kind of driver, if it is kept.
        writes: whether it writes.
        returns: whether it returns rows.
        bounded: whether it is a read for people, which `read_timeout` limits.
    """

    __slots__ = ("_for_people", "bounded", "element", "kept", "parts", "returns", "texts", "writes")

    def __init__(self, element: Any, kept: bool = True, bounded: bool = False, writes: bool = False) -> None:
        self.element, self.bounded = element, bounded
        self.parts: Parts | None = getattr(element, "parts", None)
        self.kept = kept
        self.texts: dict[Any, Any] = {}
        self.writes = writes or bool(element.is_dml)
        self.returns = element.is_select or bool(self.writes and element.returning_column_descriptions)
        self._for_people: Statement | None = None

    @property
    def for_people(self) -> Statement:
        """The same read for people, with the time limit; workers send it without one."""
        if self.bounded or self.writes:
            return self
        if self._for_people is None:
            self._for_people = Statement(self.element, self.kept, bounded=True)
            parts = self.parts
            if parts is not None:
                self._for_people.parts = lambda values: all_bounded(parts(values))
        return self._for_people


class Step(msgspec.Struct, frozen=True, gc=False):
    """One statement and its bound values; the answer is a list of rows."""

    statement: Statement
    values: Mapping[str, Any]


def all_bounded(plan: Plan[T]) -> Plan[T]:
    """Return the plan with all its reads turned into reads for people."""
    return mapped(plan, lambda step: Step(step.statement.for_people, step.values))


class OverRows:
    """A statement over rows of bound values; a column with equal values is bound once.

    Args:
        dialect: the dialect.
        types: the columns of the rows, and their types.
        build: builds the statement, given the rows as a table.
        optional: columns that are left out of the table if they have no values, to make the statement cheaper.
        inserts: whether the rows are only inserted, and not joined with a table.
    """

    def __init__(
        self,
        dialect: Dialect,
        types: Mapping[str, TypeEngine[Any]],
        build: Callable[[Any], Executable],
        optional: frozenset[str] = frozenset(),
        inserts: bool = False,
    ) -> None:
        self.dialect, self.types, self.build, self.optional, self.inserts = dialect, types, build, optional, inserts
        self._statements: dict[tuple[frozenset[str], frozenset[str]], Statement] = {}

    def alike(self, alike: frozenset[str], absent: frozenset[str] = frozenset()) -> Statement:
        """Return the statement for rows with equal values in the columns `alike`, and no values in those `absent`."""
        if (alike, absent) not in self._statements:
            types = {name: kind for name, kind in self.types.items() if name not in absent}
            self._statements[alike, absent] = Statement(self._element(types, alike))
        return self._statements[alike, absent]

    def _element(self, types: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Executable:
        if self.inserts:
            return self.build(self.dialect.given_to_insert("given", types, alike))
        return self.dialect.over(self.build, "given", types, alike)
