"""How rows are written and returned on MySQL and MariaDB: they are locked first, and then written by primary key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    Insert,
    Select,
    Subquery,
    Table,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.mysql import insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import ClauseElement, True_
from sqlalchemy.sql.visitors import iterate, replacement_traverse

from duerow.stores.sql.dialects.base.json_values import encode_json
from duerow.stores.sql.dialects.base.writes import Writes
from duerow.stores.sql.dialects.mysql.values import MOMENT, MySqlNow, MySqlValues, in_list
from duerow.stores.sql.statements.in_parts import FOUND, TOLD, AddIfMissing, Kept, Locked

_SAFE = "sql_safe_updates = 0"
"""With sql_safe_updates, a session rejects writes whose conditions have no constants; duerow's conditions are joins."""

_AT_ONCE = "sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')"
"""The session's modes stay unchanged: the server reports one in each response, and drivers escape values by it."""


class MySqlChange(Executable, ClauseElement):
    """An UPDATE of rows that are looked up through given rows or by primary key: it reads only the rows it writes.

    All its values are in terms of the old rows, as on other databases.

    Args:
        table: the table that has the rows.
        given: the given rows.
        which: the condition for rows of the table.
        values: the new values by column name.
    """

    inherit_cache = False
    is_dml = True
    is_select = False
    returning_column_descriptions = ()

    def __init__(
        self, table: Table, given: FromClause | None, which: ColumnElement[bool], values: Mapping[str, Any]
    ) -> None:
        self.table, self.given, self.which, self.values = table, given, which, values


@compiles(MySqlChange)
def _write_change(element: MySqlChange, compiler: Any, **kw: Any) -> str:
    where = compiler.process(element.which)
    sets = ", ".join(
        f"{compiler.process(element.table.c[name])} = {compiler.process(element.values[name])}"
        for name in element.values
    )
    table = compiler.process(element.table, asfrom=True)
    mode = f"SET STATEMENT {_SAFE}, {_AT_ONCE} FOR "
    if element.given is None:
        return f"{mode}UPDATE {table} FORCE INDEX (PRIMARY) SET {sets} WHERE {where}"  # noqa: S608 - built from SQLAlchemy's output
    given = compiler.process(element.given, asfrom=True)
    return f"{mode}UPDATE {given} STRAIGHT_JOIN {table} ON {where} SET {sets}"  # noqa: S608 - built from SQLAlchemy's output


class Remove(Executable, ClauseElement):
    """A DELETE of rows that are looked up through given rows."""

    inherit_cache = False
    is_dml = True
    is_select = False
    returning_column_descriptions = ()

    def __init__(self, table: Table, given: FromClause, which: ColumnElement[bool]) -> None:
        self.table, self.given, self.which = table, given, which


@compiles(Remove)
def _write_remove(element: Remove, compiler: Any, **kw: Any) -> str:
    table = compiler.process(element.table, asfrom=True)
    where = compiler.process(element.which)
    given = compiler.process(element.given, asfrom=True)
    return f"SET STATEMENT {_SAFE} FOR DELETE {table} FROM {given} STRAIGHT_JOIN {table} ON {where}"


class MySqlWrites(MySqlValues, Writes):
    """Writes that return rows: the rows are locked first, then written by primary key.

    Attributes:
        changes: the class of statements that change rows.
        removes: the class of statements that delete rows.
    """

    changes: type[MySqlChange] = MySqlChange
    removes: type[Remove] = Remove

    # Writes, and the rows they return.

    def insert(self, table: Table) -> Insert:
        """Return MySQL's INSERT."""
        return insert(table)

    def change(
        self,
        table: Table,
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]] = (),
        given: FromClause | None = None,
    ) -> Executable:
        """Lock the rows while reading their new values, and write them."""
        if not returning:
            return self.changes(table, given, and_(*which), values)
        kept = self._kept(table, values)
        shown = [*self._changed(table, values, returning), *table.primary_key, *kept, self.now()]
        match = and_(*which)
        found = select(*shown).where(match) if given is None else self.joined(select(*shown), given, table, match)
        again = (
            [*which, self._is_found(table)] if given is not None and _refers_to(list(values.values()), given) else []
        )
        write = self._write(table, values, given, [bound(each) for each in again])
        return self._locked(table, found.with_for_update(), write, len(kept))

    def change_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]],
    ) -> Executable:
        """Lock the rows that the query reads, read their new values, and write them."""
        kept = self._kept(table, values)
        shown = [*self._changed(table, values, returning), *table.primary_key, *kept, self.now()]
        return self._locked(table, picked.with_only_columns(*shown), self._write(table, values, None, []), len(kept))

    def remove(
        self,
        table: Table,
        given: FromClause,
        names: Sequence[str],
        which: Sequence[ColumnElement[bool]] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Read and lock the rows, and delete them."""
        match = and_(*(table.c[name] == given.c[name] for name in names), *which)
        if not returning:
            return self.removes(table, given, match)
        shown = [*returning, *table.primary_key, self.now()]
        found = self.joined(select(*shown), given, table, match)
        return self._locked(table, found.with_for_update(), self._taken_away(table))

    def remove_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Read and lock the rows that the query finds, and delete them."""
        shown = [*returning, *table.primary_key, self.now()]
        if table in picked.get_final_froms():
            return self._locked(table, picked.with_only_columns(*shown), self._taken_away(table))
        keys = picked.subquery("picked")
        match = and_(*(ours == keys.c[ours.name] for ours in table.primary_key))
        return self._locked(
            table, self.joined(select(*shown), keys, table, match).with_for_update(), self._taken_away(table)
        )

    def _changed(
        self, table: Table, values: Mapping[str, Any], returning: Sequence[ColumnElement[Any]]
    ) -> list[ColumnElement[Any]]:
        """Return the expressions to return for rows, in terms of their values before the change."""
        new = {table.c[name]: value for name, value in values.items()}

        def replace(element: Any, **_: Any) -> Any:
            found = new.get(element) if isinstance(element, Column) else None
            return found.self_group() if isinstance(found, ClauseElement) else found

        return [replacement_traverse(each, {}, replace) for each in returning]

    def _kept(self, table: Table, values: Mapping[str, Any]) -> list[Column[Any]]:
        """Return the columns whose old values must be passed to the write: none, because it sees all of them."""
        return []

    def _write(
        self, table: Table, values: Mapping[str, Any], given: FromClause | None, which: Sequence[ColumnElement[bool]]
    ) -> MySqlChange:
        told = {name: bound(value) for name, value in values.items()}
        if which:
            return self.changes(table, given, and_(*which), told)
        if len(table.primary_key) == 1:
            return self.changes(table, None, self._is_found(table), told)
        found = self._found(table)
        return self.changes(table, found, self._is_one(table, found), told)

    def _taken_away(self, table: Table) -> Remove:
        found = self._found(table)
        return self.removes(table, found, self._is_one(table, found))

    def _found(self, table: Table) -> Any:
        return self.given(FOUND, {key.name: key.type for key in table.primary_key}, frozenset())

    def _is_one(self, table: Table, found: FromClause) -> ColumnElement[bool]:
        return and_(*(key == found.c[key.name] for key in table.primary_key))

    def _is_found(self, table: Table) -> ColumnElement[bool]:
        return in_list(list(table.primary_key), FOUND)

    def _locked(self, table: Table, lock: Select[Any], write: MySqlChange | Remove, kept: int = 0) -> Locked:
        is_joined = isinstance(write, Remove) or (isinstance(write.given, Subquery) and write.given.name == FOUND)
        return Locked(lock, write, len(table.primary_key) + kept, packed if is_joined else _listed)

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """If a row's key is taken, lock the row that holds it, and leave that row unchanged."""
        id = added.table.c.id
        passing = added.on_duplicate_key_update(id=id)
        if told_ids or not returning:
            answered: Executable = passing.returning(*returning) if returning else passing
            return answered
        fresh = func.lastval(literal_column(ids_of(added.table.name, added.table.schema)))
        return Kept(passing.returning(*returning, id == fresh))

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Look up the row and add it if missing: if two do this at once, one fails with a conflict and tries again."""
        look = select(key).where(key == values[key.name]).with_for_update()
        return AddIfMissing(look, insert(table).values(dict(values)).returning(key))

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return the INSERT with ON DUPLICATE KEY UPDATE."""
        values = dict(new(added.inserted))
        if only is not None:
            values = {name: case((only, value), else_=added.table.c[name]) for name, value in values.items()}
        return added.on_duplicate_key_update(**values)

    def answer_put(self, put: Any, returning: Sequence[ColumnElement[Any]], written: ColumnElement[bool]) -> Executable:
        """Exclude existing rows that were not written."""
        answered: Executable = put.returning(*returning)
        return answered if isinstance(written, True_) else Kept(put.returning(*returning, written))


def bound(value: Any) -> Any:
    """Return an expression with the server's time replaced by the time that was read."""

    def replace(element: Any, **_: Any) -> Any:
        return _told() if isinstance(element, MySqlNow) else None

    return replacement_traverse(value, {}, replace) if isinstance(value, ClauseElement) else value


def _told() -> ColumnElement[Any]:
    return cast(bindparam(TOLD, type_=MOMENT), MOMENT)


def _refers_to(values: Sequence[Any], given: FromClause) -> bool:
    columns = set(given.c)
    return any(part in columns for value in values if isinstance(value, ClauseElement) for part in iterate(value))


def _listed(keys: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Return keys as a list that the driver writes out: for IN with a list, the server uses the named index."""
    return tuple(key[0] if len(key) == 1 else tuple(key) for key in keys)


def packed(keys: Sequence[Sequence[Any]]) -> str:
    """Return keys as JSON: DELETE accepts no index hint, and would otherwise scan and lock all of a small table."""
    return encode_json([key[0] if len(key) == 1 else key for key in keys]).decode()


def ids_of(table: str, schema: str | None) -> str:
    """Return the name of the sequence that numbers the rows of a table."""
    name = f"`{table}_id`"
    return name if schema is None else "`" + schema.replace("`", "``") + "`." + name
