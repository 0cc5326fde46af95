"""How MySQL writes without MariaDB's extensions: assignments take effect one by one, and there is no RETURNING."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    FromClause,
    MetaData,
    Select,
    Table,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.mysql import Insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.sql.visitors import iterate

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.dialects.base.json_values import encode_json
from duerow.stores.sql.dialects.mysql.values import NTH, in_list
from duerow.stores.sql.dialects.mysql.writes import MySqlChange, Remove
from duerow.stores.sql.statements.core import Statement, Step
from duerow.stores.sql.statements.in_parts import FOUND, Answer, InParts, Then

FIRST: Final = "first_id"
"""The bound value for the first of the generated ids."""

STRIDE: Final = "id_stride"
"""The bound value for the distance between generated ids."""

_STRICT = "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO"
_SAFE = "SET_VAR(sql_safe_updates = 0)"
"""With sql_safe_updates, a session rejects writes whose conditions have no constants; duerow's conditions are joins."""

_decode = msgspec.json.Decoder().decode
_rows_of = msgspec.json.Decoder(list[msgspec.Raw]).decode


# Assignments.


def reads(table: Table, values: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return, for each assigned column, the assigned columns that its new value reads."""
    parts = {name: set(_parts(value)) for name, value in values.items()}
    return {name: {other for other in values if table.c[other] in parts[name]} for name in values}


def in_order(read: Mapping[str, set[str]]) -> list[str]:
    """Return columns in an order in which no column is read after it is assigned; cycles are left out.

    Args:
        read: the columns that the new value of each column reads.
    """
    left, order = list(read), []
    while free := [name for name in left if not any(name in read[other] for other in left if other != name)]:
        order += free
        left = [name for name in left if name not in free]
    return order


def ordered(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return assignments in an order in which no column is read after it is assigned."""
    order = in_order(reads(table, values))
    if len(order) < len(values):
        circle = ", ".join(name for name in values if name not in order)
        raise NotImplementedError(f"no order of assignments keeps the old values of {circle}")
    return {name: values[name] for name in order}


class ChangeInOrder(MySqlChange):
    """As MySqlChange, with assignments ordered so that none reads a value that the same UPDATE has just assigned.

    The result is the same whether the server assigns the columns one by one or from the old values of all columns.
    """

    inherit_cache = False

    def __init__(
        self, table: Table, given: FromClause | None, which: ColumnElement[bool], values: Mapping[str, Any]
    ) -> None:
        super().__init__(table, given, which, ordered(table, values))


@compiles(ChangeInOrder)
def _write_change(element: ChangeInOrder, compiler: Any, **kw: Any) -> str:
    where = compiler.process(element.which)
    sets = ", ".join(
        f"{compiler.process(element.table.c[name])} = {compiler.process(value)}"
        for name, value in element.values.items()
    )
    table = compiler.process(element.table, asfrom=True)
    update = f"UPDATE /*+ {_SAFE} SET_VAR(sql_mode = '{_STRICT}') */"
    if element.given is None:
        return f"{update} {table} FORCE INDEX (PRIMARY) SET {sets} WHERE {where}"
    given = compiler.process(element.given, asfrom=True)
    return f"{update} {given} STRAIGHT_JOIN {table} ON {where} SET {sets}"


class RemoveSafely(Remove):
    """As Remove."""

    inherit_cache = False


@compiles(RemoveSafely)
def _write_remove(element: RemoveSafely, compiler: Any, **kw: Any) -> str:
    table = compiler.process(element.table, asfrom=True)
    where = compiler.process(element.which)
    given = compiler.process(element.given, asfrom=True)
    return f"DELETE /*+ {_SAFE} */ {table} FROM {given} STRAIGHT_JOIN {table} ON {where}"


# Generated ids, and rows with them.


def ids_table(message: str, schema: str | None) -> Table:
    """Return the table whose short-lived rows generate the ids of a message table."""
    return Table(
        f"{message}_id", MetaData(schema=schema), Column("id", BigInteger, primary_key=True, autoincrement=True)
    )


class Numbers(InParts):
    """Generates `count` ids by adding rows to a table with AUTO_INCREMENT and removing them again.

    Transactions never wait for each other, because no two touch the same row. The rows are removed rather than rolled
    back, so that replicas learn the highest number. Each row is removed by its key, so that no gap is locked.

    Args:
        ids: the table.
        remove: the statement that removes the rows with the ids FOUND.
    """

    def __init__(self, ids: Table, remove: Remove) -> None:
        self.ids = ids
        stride: ColumnElement[Any] = literal_column("@@auto_increment_increment")
        read = select(func.last_insert_id().label("first"), stride.label("stride"))
        one = delete(ids).where(ids.c.id == bindparam(FIRST, type_=BigInteger(), required=True))
        super().__init__(_empty_rows(ids, 1), read, one, remove)

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return the ids in ascending order."""
        count = values["count"]
        if count < 1:
            return []
        _, read, remove_one, remove = self.statements
        yield Step(_adding(self.ids, count), {})
        ((first, stride),) = yield Step(read, {})
        numbers = range(first, first + count * stride, stride)
        if count == 1:
            yield Step(remove_one, {FIRST: first})
        else:
            yield Step(remove, {FOUND: encode_json(list(numbers)).decode()})
        return [(number,) for number in numbers]


@lru_cache(maxsize=64)
def _adding(ids: Table, count: int) -> Statement:
    return Statement(_empty_rows(ids, count))


def _empty_rows(ids: Table, count: int) -> Any:
    """Return an INSERT whose number of rows is known in advance, so that their ids are consecutive."""
    schema = "" if ids.schema is None else "`" + ids.schema.replace("`", "``") + "`."
    return text(f"INSERT INTO {schema}`{ids.name}` VALUES {', '.join(['()'] * count)}")  # noqa: S608 - built from checked names


class Numbered(InParts):
    """Adds messages after generating their ids, in the order of the rows.

    Args:
        added: the INSERT, which takes the bound values FIRST and STRIDE.
        numbers: the statement that generates the ids.
        count: the query that counts the rows; None: the rows are given, or there is only one.
        read: the query for the id of a single row that may have been skipped; None: all rows are added.
    """

    def __init__(self, added: Any, numbers: Numbers, count: Select[Any] | None = None, read: Any = None) -> None:
        super().__init__(*(each for each in (count, numbers, added, read) if each is not None))
        self.added, self.numbers, self.count, self.read = added, numbers, count, read

    def passing(self) -> Numbered:
        """Return the same statement, skipping rows whose key is taken."""
        return Numbered(passing(self.added), self.numbers, self.count, self.read)

    def returning(self, *_: Any) -> Numbered:
        """Return the statement unchanged: it returns ids in any case."""
        return self

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return the ids of the added rows; if rows with taken keys are skipped, this only works for a single row."""
        steps = iter(self.statements)
        if self.count is None:
            count = len(_rows_of(values["given"])) if "given" in values else 1
        else:
            ((count,),) = yield Step(next(steps), values)
        next(steps)
        ids = yield from self.numbers.parts({"count": count})
        if not ids:
            return []
        stride = ids[1][0] - ids[0][0] if count > 1 else 1
        bound = {**values, FIRST: ids[0][0], STRIDE: stride}
        yield Step(next(steps), bound)
        return ids if self.read is None else list((yield Step(next(steps), bound)))


def numbered(numbers: Numbers, table: Any, names: Sequence[str], rows: Select[Any]) -> Numbered:
    """Return a statement that adds a query's rows with ids, in the order of the given rows or of the query."""
    first: ColumnElement[Any] = bindparam(FIRST, type_=BigInteger(), required=True)
    stride: ColumnElement[Any] = bindparam(STRIDE, type_=BigInteger(), required=True)

    def added(id: ColumnElement[Any]) -> AddRows:
        made: AddRows = AddRows(table).from_select([*names, "id"], rows.add_columns(id))
        return made

    sources = rows.get_final_froms()
    if not sources:
        return Numbered(added(first), numbers, read=_created(table))
    given = next((each for each in sources if NTH in each.c), None)
    if given is not None:
        return Numbered(added(first + (given.c[NTH] - const(1)) * stride), numbers)
    place = func.row_number().over(order_by=list(rows._order_by_clauses))
    one: ColumnElement[Any] = literal_column("1")
    shown = rows.order_by(None).with_only_columns(one, maintain_column_froms=True).subquery("fresh")
    return Numbered(added(first + (place - const(1)) * stride), numbers, count=select(func.count()).select_from(shown))


def _created(table: Table) -> Select[Any]:
    return select(table.c.id).where(table.c.id == bindparam(FIRST, type_=BigInteger(), required=True))


class AddThenRead(InParts):
    """Adds messages that already have ids, then reads which ones exist.

    Args:
        added: the INSERT, which skips rows whose key is taken.
    """

    def __init__(self, added: Any) -> None:
        id = added.table.c.id
        read = select(id).where(in_list([id], FOUND)).with_hint(added.table, "FORCE INDEX (PRIMARY)")
        super().__init__(added, read)

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return the ids of the messages that exist after the INSERT."""
        add, read = self.statements
        yield Step(add, values)
        if "given_id" in values:
            ids = [values["given_id"]]
        else:
            ids = [row[0] if isinstance(row, list) else row for row in _decode(values["given"])]  # ids come first
        return list((yield Step(read, {FOUND: tuple(ids)})))


class AddRows(Insert):
    """An INSERT that also stores its values or its query as attributes.

    Attributes:
        told: the value for each column.
        rows: the query for the rows; None: the values are given.
    """

    inherit_cache = False
    told: Mapping[str, Any] = {}
    rows: Select[Any] | None = None

    def values(self, *given: Any, **named: Any) -> Any:
        """Add a row of values."""
        (self.told,) = given
        return super().values(*given, **named)

    def from_select(self, names: Any, rows: Any, include_defaults: bool = True) -> Any:
        """Add the rows of a query."""
        self.told, self.rows = dict(zip(names, rows.selected_columns, strict=True)), rows
        return super().from_select(names, rows, include_defaults)

    def returning(self, *_: Any, **__: Any) -> Any:
        """Return the number that the server assigned to the row."""
        return Then(self, select(func.last_insert_id()), alone=True)

    @property
    def given(self) -> Any:
        """The given rows that the statement adds."""
        assert self.rows is not None  # noqa: S101 - the statement reads them
        return self.rows.get_final_froms()[0]


class AddMessages(AddRows):
    """An INSERT of messages, which already have ids or are assigned ids first.

    Args:
        table: the table of messages.
        numbers: the statement that generates ids.
    """

    inherit_cache = False

    def __init__(self, table: Table, numbers: Numbers) -> None:
        super().__init__(table)
        self.numbers = numbers

    def values(self, *given: Any, **named: Any) -> Any:
        """Add one message."""
        (told,) = given
        first = bindparam(FIRST, type_=BigInteger(), required=True)
        return Numbered(AddRows(self.table).values({**told, "id": first}), self.numbers)

    def from_select(self, names: Any, rows: Any, include_defaults: bool = True) -> Any:
        """Add the rows of a query."""
        if "id" in names:
            return super().from_select(names, rows, include_defaults)
        return numbered(self.numbers, self.table, names, rows)


def passing(added: Any) -> Any:
    """Return an INSERT that locks the row that holds a taken key, and leaves that row unchanged."""
    return added.on_duplicate_key_update(id=added.table.c.id)


def single(added: Numbered) -> Numbered:
    """Return a statement that adds one message unless its key is taken, and returns its id if it did."""
    read = added.read if added.read is not None else _created(added.added.table)
    return Numbered(added.added, added.numbers, added.count, read).passing()


def _parts(value: Any) -> Any:
    return iterate(value) if isinstance(value, ClauseElement) else ()
