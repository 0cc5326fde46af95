"""What PostgreSQL and SQLite have in common: writes answer the rows that they wrote, and indexes are of some rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    FromClause,
    Identity,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    delete,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.schema import CreateIndex, DropIndex
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.types import TypeEngine

from duerow.store import IndexKind
from duerow.stores.sql.dialects.base import KEYS, Keyed, const
from duerow.stores.sql.dialects.identities import OneDatabase


class WritesReturnRows(OneDatabase, ABC):
    """The half of `Dialect` for databases with RETURNING, ON CONFLICT and partial indexes."""

    text: TypeEngine[Any] = Text()
    told_word: TypeEngine[Any] = Text()
    partial_indexes = True
    takes_parts = False
    ranges_by_rows = True
    asks_for_indexes = False
    answers_held = False
    keys = KEYS
    compares_rows = True
    dropping: Mapping[str, Any] = {}
    derived: Mapping[str, tuple[TypeEngine[Any], str]] = {}
    chunk = 5_000
    most_values: int | None = 32_766  # what SQLite takes unless it was built otherwise, and half of PostgreSQL's
    chunk_bytes = 8 << 20

    @abstractmethod
    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return that a column is one of those that a subquery finds, evaluated once."""

    @abstractmethod
    def delete_matches(self, message: Table, given: FromClause, ids: Sequence[str]) -> list[ColumnElement[bool]]:
        """Return that a row to be deleted has the token and the id, of these columns, of one of the given receipts."""

    @abstractmethod
    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return what an index holds of a payload field."""

    @abstractmethod
    def insert(self, table: Table) -> Any:
        """Return an INSERT that knows this database's ON CONFLICT."""

    def locked(self, query: Select[Any], table: Table) -> Select[Any]:
        """Return it with FOR UPDATE."""
        return query.with_for_update(key_share=True, of=table)

    def told(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return it as it is: a driver binds it with its type."""
        return moment

    def change(
        self,
        table: Table,
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]] = (),
        given: FromClause | None = None,
    ) -> Executable:
        """Return an UPDATE."""
        changed = update(table).where(*which).values(values)
        return changed.returning(*returning) if returning else changed

    def change_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]],
    ) -> Executable:
        """Return an UPDATE by the condition."""
        return update(table).where(*which).values(values).returning(*returning)

    def remove(
        self,
        table: Table,
        given: FromClause,
        names: Sequence[str],
        which: Sequence[ColumnElement[bool]] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return a DELETE."""
        if names[-1] == "token":
            match = self.delete_matches(table, given, names[:-1])
        elif len(names) == 1:
            match = [table.c[names[0]].in_(select(given.c[names[0]]))]
        else:
            match = [tuple_(*(table.c[name] for name in names)).in_(select(*(given.c[name] for name in names)))]
        gone = delete(table).where(*which, *match)
        return gone.returning(*returning) if returning else gone

    def remove_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return a DELETE by the condition."""
        gone = delete(table).where(*which)
        return gone.returning(*returning) if returning else gone

    def remove_where(
        self, table: Table, which: Sequence[ColumnElement[bool]], returning: Sequence[ColumnElement[Any]]
    ) -> Executable:
        """Return a DELETE."""
        return delete(table).where(*which).returning(*returning)

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """Return it with ON CONFLICT DO NOTHING."""
        passing = added.on_conflict_do_nothing(index_elements=list(keys), index_where=only)
        answered: Executable = passing.returning(*returning) if returning else passing
        return answered

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Return an INSERT with ON CONFLICT DO NOTHING."""
        added = self.insert(table).values(values)
        answered: Executable = added.on_conflict_do_nothing(index_elements=[key]).returning(key)
        return answered

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return it with ON CONFLICT DO UPDATE."""
        return added.on_conflict_do_update(index_elements=list(keys), set_=new(added.excluded), where=only)

    def answer_put(self, put: Any, returning: Sequence[ColumnElement[Any]], written: ColumnElement[bool]) -> Executable:
        """Return it with RETURNING, which leaves out what was not written."""
        answered: Executable = put.returning(*returning)
        return answered

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return the key, by which the planner finds the index."""
        return self.key(table.c.payload, names, kind)

    def create_index(
        self,
        name: str,
        table: Table,
        names: Sequence[str],
        kind: IndexKind,
        which: ColumnElement[bool],
        apart: bool,
    ) -> Sequence[Any]:
        """Return CREATE INDEX of an expression."""
        message = table.to_metadata(MetaData())  # a copy, so that the table itself knows nothing of it
        key = self.key(message.c.payload, names, kind)
        options: Mapping[str, Any] = {"postgresql_concurrently": apart}
        index = Index(name, Grouping(key), message.c.id, **options, sqlite_where=which, postgresql_where=which)
        return [CreateIndex(index, if_not_exists=True)]

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Return DROP INDEX."""
        message = table.to_metadata(MetaData())
        return [DropIndex(Index(name, message.c.id, postgresql_concurrently=apart), if_exists=True)]

    def joined(
        self, found: Select[Any], given: FromClause, table: FromClause, match: ColumnElement[bool]
    ) -> Select[Any]:
        """Return a join, which the planner reads in the right order."""
        return found.join_from(given, table, match)

    def first(self, column: ColumnElement[Any], *which: ColumnElement[bool]) -> Select[Any]:
        """Return min(), which is read from the index."""
        return select(func.min(column)).where(*which)

    def below(
        self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any], held: bool
    ) -> ColumnElement[Any]:
        """Return a subquery."""
        first = query.where(id < bound).order_by(id).limit(const(1))
        return (first.with_for_update(read=True, skip_locked=True) if held else first).scalar_subquery()

    def none_below(self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that there is none."""
        return ~query.where(id < bound).exists()

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Return NULLS LAST."""
        return [(column.desc() if descending else column.asc()).nulls_last()]

    def in_group(self, rows: FromClause, grouped: bool) -> ColumnElement[bool]:
        """Return whether there is a group."""
        group = rows.c.group
        return group.is_not(None) if grouped else group.is_(None)

    def live_key(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the key, and that it is one of a live message."""
        return rows.c.key, (rows.c.key.is_not(None), live)

    def live_group(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the group, and that it is one of a live message."""
        return rows.c.group, (live,)

    def lent_group(self, rows: FromClause) -> Keyed:
        """Return the group, and that somebody has the message."""
        return rows.c.group, (rows.c.leased_by.is_not(None),)

    def resting(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return that there is no due time, and none to wait for."""
        return rows.c.due_at.is_(None), rows.c.behind_at.is_(None)

    def stopped(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return the same, and the status."""
        return *self.resting(rows), rows.c.status != const("dead")

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Return it as it is."""
        return found

    def by_group(self, found: Select[Any], table: Table) -> Select[Any]:
        """Return it as it is."""
        return found

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return an identity; SQLite numbers rows by INTEGER PRIMARY KEY only."""
        return self.number_column()

    def number_column(self) -> Column[int]:
        """Return an identity."""
        big = BigInteger().with_variant(Integer(), "sqlite")
        return Column("id", big, Identity(always=False), primary_key=True)

    def ddl(self, statement: Any) -> Any:
        """Return it as it is."""
        return statement

    def migration_unlock(self, prefix: str) -> Executable | None:
        """Return nothing: the lock ends with the transaction."""
        return None

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return that they are: a column holds what its type says."""
        return True

    def server(self) -> Executable | None:
        """Return nothing: any server will do."""
        return None

    def check_server(self, row: Sequence[Any]) -> None:
        """Any will do."""

    def unfit(self, tables: Sequence[Table], ours: bool) -> Executable | None:
        """Return nothing: there is one kind of table, and text is compared byte for byte unless a column says so."""
        return None

    def check_tables(self, rows: Sequence[Sequence[Any]]) -> None:
        """Any will do."""
