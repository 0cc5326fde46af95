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
        """Return a payload field's value in the index: null for another kind of value, the beginning of a long text.

        The names are part of the statement's text, as in the index: only ASCII letters, digits, `_` and `-`.
        No payload makes it fail. If two values are equal as a `Member`, they are equal here; if one is less, it is not
        greater here.
        """

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return a number in the form in which it is compared with `key`: by default the nearest float."""
        return self.real(float(number))

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return `key` of a table's payload in the form for which the planner uses the index of this name."""
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
            table: the table of the payload.
            names: the path to the field; the index is in the order of its `key` and then of ids.
            kind: the kind of the field's values.
            which: which rows are in the index.
            apart: whether to create it while others write, outside a transaction.
        """
        message = table.to_metadata(MetaData())  # a copy, so that the table itself knows nothing of it
        key = self.key(message.c.payload, names, kind)
        options: Mapping[str, Any] = {"postgresql_concurrently": apart}
        index = Index(name, Grouping(key), message.c.id, **options, sqlite_where=which, postgresql_where=which)
        return [CreateIndex(index, if_not_exists=True)]

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Return the statements that drop such an index."""
        message = table.to_metadata(MetaData())
        return [DropIndex(Index(name, message.c.id, postgresql_concurrently=apart), if_exists=True)]

    @abstractmethod
    def indexes(self, table: Table) -> Executable:
        """Return a query for the names of a table's indexes, and whether each can be used."""

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return a query that takes a lock or returns false at once, and one that releases it; only for `apart`."""
        raise AssertionError(f"{self.name} makes indexes inside a transaction")


class NoPayloadIndexes(PayloadIndexes):
    """For databases that cannot have such indexes: creating one is refused, and conditions work without them.

    Attributes:
        product: what people call the database.
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
