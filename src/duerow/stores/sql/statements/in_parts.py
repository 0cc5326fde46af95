"""Statements that are split into several on databases whose writes do not return rows.

Each one is a small plan in a transaction: rows are locked first and then written by primary key, so the conditions
that were true when the rows were locked are still true.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

import msgspec
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy import Select, bindparam, union_all
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.statements.core import OverRows, Statement, Step

_decode = msgspec.json.Decoder().decode

FOUND: Final = "found"
"""The bound value that holds the primary keys of the locked rows."""

TOLD: Final = "told"
"""The bound value that holds the time at which the rows were locked."""

Answer = Generator[Step, Any, list[Any]]


class InParts(Executable):
    """A write in several parts, used in place of an SQL statement.

    Attributes:
        statements: the parts.
        alone: whether it needs no transaction around it.
    """

    is_dml = True
    is_select = False
    returning_column_descriptions = (True,)
    alone = False

    def __init__(self, *elements: Any) -> None:
        self.statements = [Statement(element) for element in elements]

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Run the parts."""
        raise NotImplementedError

    def compile(self, dialect: SqlDialect) -> str:
        """Return the text of the parts, for people."""
        return ";\n".join(str(statement.element.compile(dialect=dialect)).strip() for statement in self.statements)


class Locked(InParts):
    """Locks rows, reads the answer, the primary keys and the time, and then writes the rows.

    Args:
        lock: the query that locks and reads; the time is the last column.
        write: the statement that writes the rows with the primary keys FOUND, at the time TOLD.
        keys: the number of columns in the primary key.
        pack: builds the bound value FOUND from these columns.
    """

    def __init__(self, lock: Any, write: Any, keys: int, pack: Callable[[Sequence[Sequence[Any]]], Any]) -> None:
        super().__init__(lock, write)
        self.keys, self.pack = keys, pack

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return the rows that were read."""
        lock, write = self.statements
        rows = yield Step(lock, values)
        if not rows:
            return []
        end = len(rows[0]) - 1
        begin = end - self.keys
        found = self.pack([row[begin:end] for row in rows])
        yield Step(write, {**values, FOUND: found, TOLD: rows[0][end]})
        return [row[:begin] for row in rows]


class AddIfMissing(InParts):
    """Adds a row if it does not exist; of concurrent attempts, only one succeeds."""

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return the row that was added."""
        look, add = self.statements
        if (yield Step(look, values)):
            return []
        added = yield Step(add, values)
        return list(added if add.returns else (yield Step(look, values)))


class Then(InParts):
    """Writes, then reads the answer.

    Args:
        write: the statement that writes.
        read: the query for the answer.
        alone: whether it needs no transaction around it.
    """

    def __init__(self, write: Any, read: Any, alone: bool = False) -> None:
        super().__init__(write, read)
        self.alone = alone

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return the rows that were read."""
        write, read = self.statements
        yield Step(write, values)
        return list((yield Step(read, values)))


class Checked(InParts):
    """Runs a statement only if a query returns a row, or only if it returns none.

    Args:
        look: the query.
        write: the statement.
        there: whether the query must return a row.
    """

    def __init__(self, look: Any, write: Any, there: bool) -> None:
        super().__init__(look, write)
        self.there = there

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return nothing."""
        look, write = self.statements
        if bool((yield Step(look, values))) == self.there:
            yield Step(write, values)
        return []

    def compile(self, dialect: SqlDialect, **kw: Any) -> str:
        """Return the text of the statement, for people."""
        return str(self.statements[1].element.compile(dialect=dialect, **kw))


class Kept(InParts):
    """Returns only the rows whose last column is true, without that column."""

    alone = True

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return these rows."""
        (write,) = self.statements
        return [row[:-1] for row in (yield Step(write, values)) if row[-1]]


MOST_UNITED: Final = 32
"""How many queries are combined into one statement, so that few statements are needed for any number of rows."""


class ForEach(OverRows):
    """A query for each given row, combined into statements that have the values of the rows as constants.

    Args:
        dialect: the dialect.
        types: the columns of the rows, with their types.
        ask: builds the query of one row, given its values by name.
    """

    def __init__(
        self, dialect: Dialect, types: Mapping[str, TypeEngine[Any]], ask: Callable[[Any], Select[Any]]
    ) -> None:
        super().__init__(dialect, types, ask)
        self._of: dict[int, Statement] = {}

    def alike(self, alike: frozenset[str], absent: frozenset[str] = frozenset()) -> Statement:
        """Return the statement for rows with equal values in these columns."""
        if (alike, absent) not in self._statements:
            self._statements[alike, absent] = Statement(_Each(self, alike))
        return self._statements[alike, absent]

    def of(self, count: int) -> Statement:
        """Return the statement for this many rows."""
        if count not in self._of:
            asked: list[Any] = []
            for row in range(count):
                values = {name: bindparam(f"{name}_{row}", type_=type) for name, type in self.types.items()}
                asked.append(self.build(SimpleNamespace(**values)))
            self._of[count] = Statement(union_all(*asked))
        return self._of[count]


class _Each(InParts):
    is_dml = False
    alone = True

    def __init__(self, asked: ForEach, alike: frozenset[str]) -> None:
        super().__init__()
        self.asked = asked
        self.differing = [name for name in asked.types if name not in alike]
        self.same = sorted(alike)

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return all rows."""
        rows = _decode(values["given"]) if self.differing else [[]]
        same = {name: values[f"given_{name}"] for name in self.same}
        found: list[Any] = []
        for start in range(0, len(rows), MOST_UNITED):
            bound, united = dict(values), rows[start : start + MOST_UNITED]
            for place, row in enumerate(united):
                named = same | dict(zip(self.differing, row if isinstance(row, list) else [row], strict=True))
                bound |= {f"{name}_{place}": value for name, value in named.items()}
            found += yield Step(self.asked.of(len(united)), bound)
        return found

    def compile(self, dialect: SqlDialect) -> str:
        """Return the text for two rows, for people."""
        return str(self.asked.of(2).element.compile(dialect=dialect))
