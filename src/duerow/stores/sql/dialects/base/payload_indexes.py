"""Indexes of payload fields."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Index, MetaData, Table
from sqlalchemy.schema import CreateIndex, DropIndex
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import Grouping

from duerow.errors import NotSupported
from duerow.store import IndexKind
from duerow.stores.sql.dialects.base.expressions import Expressions


class PayloadIndexes(Expressions):
    """Indexes of payload fields: by default on an expression that the planner recognizes in queries."""

    @abstractmethod
    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return a payload field's value as the index stores it: null for another kind, only the start of a long text.

        The names are part of the statement's text, as in the index, so they may only have ASCII letters, digits, `_`
        and `-`. No payload makes it fail. Values that are equal as a `Member` have equal keys, and the key of a lesser
        value is never greater than that of a greater one.
        """

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return a number in the form that is compared with `key`: by default the nearest float."""
        return self.real(float(number))

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return `key` of a table's payload, written so that the planner uses the index with this name."""
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
        """Return the statements that create an index of a payload field.

        Args:
            name: the index's name.
            table: the table that has the payload.
            names: the path to the field; the index is in the order of its `key` and then of ids.
            kind: the kind of the field's values.
            which: the condition for rows to be in the index.
            apart: whether to create it outside a transaction, without blocking writes.
        """
        message = table.to_metadata(MetaData())  # a copy, so that the index is not added to the table itself
        key = self.key(message.c.payload, names, kind)
        options: Mapping[str, Any] = {"postgresql_concurrently": apart}
        index = Index(name, Grouping(key), message.c.id, **options, sqlite_where=which, postgresql_where=which)
        return [CreateIndex(index, if_not_exists=True)]

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Return the statements that drop an index of a payload field."""
        message = table.to_metadata(MetaData())
        return [DropIndex(Index(name, message.c.id, postgresql_concurrently=apart), if_exists=True)]

    @abstractmethod
    def indexes(self, table: Table) -> Executable:
        """Return a query for the names of a table's indexes, and whether each can be used."""

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return a query that takes a lock, or returns false without waiting, and one that releases it; see `apart`."""
        raise AssertionError(f"{self.name} makes indexes inside a transaction")


class NoPayloadIndexes(PayloadIndexes):
    """For databases without such indexes: creating one raises an error, and conditions work without an index.

    Attributes:
        product: the database's name in error messages.
    """

    product: str

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Refuse."""
        raise self._no_index()

    def create_index(
        self,
        name: str,
        table: Table,
        names: Sequence[str],
        kind: IndexKind,
        which: ColumnElement[bool],
        apart: bool,
    ) -> Sequence[Any]:
        """Refuse."""
        raise self._no_index()

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Refuse."""
        raise self._no_index()

    def _no_index(self) -> NotSupported:
        return NotSupported(
            f"{self.product} cannot have an index on a payload field: leave indexed= out; conditions work without an "
            "index"
        )
