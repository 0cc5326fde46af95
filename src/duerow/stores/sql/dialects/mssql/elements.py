"""Writes in T-SQL: changes of rows found through other rows, with OUTPUT; inserts of missing rows; and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    Case,
    Column,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Table,
    and_,
    case,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.mssql import DATETIME2
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.elements import ClauseElement, Null
from sqlalchemy.sql.util import ClauseAdapter
from sqlalchemy.sql.visitors import replacement_traverse

from duerow.stores.sql.dialects.base import LINE
from duerow.stores.sql.dialects.mssql.compiler import NTH, NextId, Word, bare
from duerow.stores.sql.statements.core import Step
from duerow.stores.sql.statements.in_parts import Answer, InParts


class TsqlWriting(Executable, ClauseElement):
    """A statement that writes, and can return rows."""

    inherit_cache = False
    is_dml = True
    is_select = False

    def __init__(self, returning: Sequence[Any]) -> None:
        self.returning_columns = tuple(returning)

    @property
    def returning_column_descriptions(self) -> tuple[Any, ...]:
        """Return the columns that are returned."""
        return self.returning_columns


class TsqlChange(TsqlWriting):
    """An UPDATE or a DELETE of rows that are found through other rows.

    Args:
        table: the table that has the rows.
        source: the rows through which they are found; None: only the condition finds them.
        which: the condition for rows of the table.
        values: the new values by column name, in terms of the old ones; None: the rows are deleted.
        returning: the columns to return.
        hints: how the rows are read.
    """

    def __init__(
        self,
        table: Table,
        source: FromClause | None,
        which: ColumnElement[bool],
        values: Mapping[str, Any] | None,
        returning: Sequence[Any],
        hints: str,
    ) -> None:
        super().__init__(returning)
        self.table, self.source, self.which, self.values, self.hints = table, source, which, values, hints


@compiles(TsqlChange)
def _write_change(element: TsqlChange, compiler: Any, **kw: Any) -> str:
    name = compiler.process(element.table, asfrom=True)
    with compiler.within(element.table, *([] if element.source is None else [element.source])):
        verb = f"DELETE {name}"
        if element.values is not None:
            sets = ", ".join(
                f"{compiler.preparer.format_column(element.table.c[label])} = {compiler.value(value)}"
                for label, value in element.values.items()
            )
            verb = f"UPDATE {name} SET {sets}"  # noqa: S608 - built from SQLAlchemy's output
        which = "deleted" if element.values is None else "inserted"
        answer = compiler.output(element.table, element.returning_columns, which)
        ours = LINE not in element.table.info  # how the rows of a user's table are stored is unknown
        numbered = ours and all(isinstance(key.type, Integer) for key in element.table.primary_key)
        index = "INDEX(1), " if numbered else ""  # the clustered index: the rows themselves, in the order of the key
        read = f"{name} WITH ({index}{element.hints})"
        where = compiler.condition(element.which)
        if element.source is None:
            return f"{verb}{answer} FROM {read} WHERE {where}"
        source = compiler.process(element.source, asfrom=True)
        return f"{verb}{answer} FROM {source} JOIN {read} ON {where}"


class Add(TsqlWriting):
    """An INSERT of rows whose keys do not exist yet; of several rows with the same key, only the first is added.

    Args:
        table: the table.
        rows: the columns' values by name, in order.
        keys: the columns that identify rows.
        only: the condition under which they identify a row; None: always.
        returning: the columns to return.
        index: the name of the index of the keys; None for the primary key.
        once: whether several of the new rows may have the same key.
        order: the order of the rows, if it differs from the query's.
        sequence: the sequence that generates ids for rows without one.
        mixed: whether the new rows come with ids, and some of them may not belong in the index.
    """

    def __init__(
        self,
        table: Table,
        rows: Select[Any],
        names: Sequence[str],
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool] | None,
        returning: Sequence[Any],
        index: str | None = None,
        once: bool = False,
        order: Sequence[Any] = (),
        sequence: str | None = None,
        mixed: bool = False,
    ) -> None:
        super().__init__(returning)
        self.table, self.names, self.keys, self.only = table, tuple(names), tuple(keys), only
        self.index, self.sequence = index, sequence
        order = list(order or rows._order_by_clauses)
        rows = rows.order_by(None)
        if once or mixed:
            place = {name: bare(each) for name, each in zip(names, rows.selected_columns, strict=True)}
            by = order or [select(literal_column("1")).scalar_subquery()]
            alike = [place[key.name] for key in keys]
            if mixed:  # a row outside the index never has a duplicate
                alike.append(case((_as_of(only, table, place), literal_column("0")), else_=place["id"]))
            number = func.row_number().over(partition_by=alike, order_by=by)
            rows = rows.add_columns(number.label("copy_number"))
        if order:
            rows = rows.add_columns(func.row_number().over(order_by=order).label("line_number"))
        self.once, self.mixed, self.ordered = once, mixed, bool(order)
        self.rows = rows.subquery("fresh")


@compiles(Add)
def _write_add(element: Add, compiler: Any, **kw: Any) -> str:
    name = compiler.process(element.table, asfrom=True)
    held = element.table.alias("held")
    with compiler.within(element.table):
        source = compiler.process(element.rows, asfrom=True)
    columns = [compiler.preparer.quote(each) for each in element.names]
    keyed = [compiler.preparer.quote(key.name) for key in element.keys]
    same = " AND ".join(f"held.{key} = fresh.{key}" for key in keyed)
    if element.only is not None:
        only = compiler.condition(ClauseAdapter(held).traverse(element.only))
        # A row that does not meet the condition, such as a message that is added as dead, conflicts with no other row.
        same += f" AND {only} AND {only.replace('held.', 'fresh.')}"
    index = "" if element.index is None else f", INDEX({element.index})"
    taken = f"EXISTS (SELECT 1 FROM {name} AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK{index}) WHERE {same})"  # noqa: S608 - built from SQLAlchemy's output
    free = f"NOT {taken}"
    if element.mixed:
        free = f"fresh.copy_number = 1 AND {free}"
    elif element.once:
        free = f"(fresh.{keyed[-1]} IS NULL OR fresh.copy_number = 1 AND {free})"
    answer = compiler.output(element.table, element.returning_columns, "inserted")
    shown = ", ".join(f"fresh.{each}" for each in columns)
    order = " ORDER BY fresh.line_number" if element.ordered else ""
    if element.sequence is not None:
        over = f" OVER ({order.strip()})" if order else ""
        columns, shown, order = ["id", *columns], f"NEXT VALUE FOR {element.sequence}{over}, {shown}", ""
    return f"INSERT INTO {name} ({', '.join(columns)}){answer} SELECT {shown} FROM {source} WHERE {free}{order}"  # noqa: S608 - built from SQLAlchemy's output


def _as_of(condition: Any, table: Table, place: Mapping[str, Any]) -> Any:
    """Return a condition on a table's columns as a condition on their future values."""

    def replace(element: Any, **_: Any) -> Any:
        return place[element.name] if isinstance(element, Column) and element.table is table else None

    return replacement_traverse(condition, {}, replace)


class NumberedInsert(Insert):
    """An INSERT whose rows get ids in the order in which they are given.

    Attributes:
        sequence: the sequence of the table's ids; None for an identity column.
        told: the columns and the query to insert from; None: values are inserted.
        order: the order of the query's rows, if they have an order and no ids.
    """

    inherit_cache = False
    sequence: str | None = None
    told: tuple[list[str], Select[Any]] | None = None
    order: Sequence[Any] = ()

    def from_select(self, names: Any, rows: Any, include_defaults: bool = True) -> Any:
        """Insert the rows of a query, with ids in the order of the query or of the given rows."""
        self.told = list(names), rows
        if self.sequence is None or "id" in names:
            return super().from_select(names, rows, include_defaults)
        self.order = list(rows._order_by_clauses)
        if not self.order:
            self.order = [each.c[NTH] for each in rows.get_final_froms() if NTH in each.c]
        number = func.row_number().over(order_by=self.order).label("line_number")
        fresh = labelled(rows.order_by(None), names, self.table).add_columns(number).subquery("fresh")
        # A sequence numbers rows in a specific order only in the outermost query.
        numbered = select(NextId(self.sequence, [fresh.c.line_number]), *(fresh.c[name] for name in names))
        return super().from_select(["id", *names], numbered, include_defaults)


def rows_of(added: Any) -> tuple[list[str], Select[Any]]:
    """Return the columns of an INSERT, and the query for the rows it would insert."""
    if added.told is None:
        values = {getattr(column, "name", column): value for column, value in added._values.items()}
        names, rows = list(values), select(*(_labelled(value, name) for name, value in values.items()))
    else:
        names, rows = added.told
    return names, labelled(rows, names, added.table)


def _labelled(value: Any, name: str) -> Any:
    found = value if isinstance(value, ColumnElement | BindParameter | Case) else literal_column(str(value))
    return found.label(name)


def labelled(rows: Select[Any], names: Sequence[str], table: Any) -> Select[Any]:
    """Return a query whose columns have the names of a table's columns, and their types even for null."""
    columns = []
    for each, name in zip(rows.selected_columns, names, strict=True):
        value, kind = bare(each), table.c[name].type
        typed = value
        if isinstance(value, Null) and isinstance(kind, Word | DATETIME2):
            typed = literal_column(f"CAST(NULL AS {kind.get_col_spec() if isinstance(kind, Word) else 'DATETIME2(6)'})")
        columns.append(typed.label(name))
    return rows.with_only_columns(*columns, maintain_column_froms=True)


class Put(InParts):
    """Updates the rows that exist, locks the keys of the rows that do not, and then adds those.

    Args:
        added: the INSERT of all rows.
        keys: the columns of the primary key.
        new: returns the new values of an existing row.
        only: the condition for existing rows to be changed.
        returning: the columns to return for each row that was written.
    """

    def __init__(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None,
        returning: Sequence[ColumnElement[Any]],
    ) -> None:
        names, rows = rows_of(added)
        fresh = rows.order_by(None).subquery("fresh")
        match = and_(*(key == fresh.c[key.name] for key in keys), *([] if only is None else [only]))
        hints = "ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK"
        change = TsqlChange(added.table, fresh, match, dict(new(fresh.c)), returning, hints)
        super().__init__(change, Add(added.table, rows, names, keys, None, returning))
        self._made = (added, keys, new, only)
        self.returning_column_descriptions: Any = tuple(returning)

    def returning(self, *columns: ColumnElement[Any]) -> Put:
        """Return the same statement, returning these columns."""
        return Put(*self._made, columns)

    def parts(self, values: Mapping[str, Any]) -> Answer:
        """Return the rows that the UPDATE and the INSERT wrote."""
        rows: list[Any] = []
        for statement in self.statements:
            rows += yield Step(statement, values)
        return rows


class IfMissing(ExecutableDDLElement):
    """CREATE TABLE, unless the table exists."""

    def __init__(self, table: Table) -> None:
        self.element = table


@compiles(IfMissing)
def _write_if_missing(element: IfMissing, compiler: Any, **kw: Any) -> str:
    name = compiler.preparer.format_table(element.element)
    create = compiler.process(CreateTable(element.element)).strip()
    return f"IF OBJECT_ID(N'{escaped(name)}', N'U') IS NULL {create}"


class NeverLocked(ExecutableDDLElement):
    """CREATE TABLE without lock escalation: no number of row locks turns into a table lock."""

    def __init__(self, table: Table) -> None:
        self.element = table


@compiles(NeverLocked)
def _write_never_locked(element: NeverLocked, compiler: Any, **kw: Any) -> str:
    name = compiler.preparer.format_table(element.element)
    create = compiler.process(CreateTable(element.element)).strip()
    return f"{create};\n\nALTER TABLE {name} SET (LOCK_ESCALATION = DISABLE)"


def escaped(name: str) -> str:
    """Return a name escaped for a literal."""
    return name.replace("'", "''")
