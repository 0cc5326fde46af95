"""Operations for Alembic: `op.add_queue_state("sms_message", "sending")`; import this module in your `env.py`.

On PostgreSQL this blocks nobody: the columns are added without rewriting the table, and the indexes are created
concurrently with writes. On SQLite an index is created in one go. An operation that was interrupted halfway can be
repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from alembic.operations import MigrateOperation, Operations
from alembic.operations.ops import CreateIndexOp
from sqlalchemy import BigInteger, Column, Index, MetaData, Table

from duerow.errors import ConfigurationError
from duerow.stores.sql.entities.columns import StateTable, add_indexes, check_prefix, kept_in, missing, state_columns
from duerow.stores.sql.entities.keys import Key


class _OfState(MigrateOperation):
    """An operation on the queue state of a table.

    Args:
        table: the table.
        prefix: the prefix of the state's columns.
        id: the table's primary key; if it has several columns, their names.
        schema: the database schema that holds the table.
    """

    def __init__(self, table: str, prefix: str, id: str | Sequence[str] = "id", schema: str | None = None) -> None:
        self.table, self.prefix, self.schema = table, check_prefix(prefix), schema
        self.id = (id,) if isinstance(id, str) else tuple(id)


@Operations.register_operation("add_queue_state")
class AddQueueState(_OfState):
    """Adds the columns and indexes of a state to an existing table."""

    @classmethod
    def add_queue_state(
        cls,
        operations: Operations,
        table: str,
        prefix: str,
        *,
        id: str | Sequence[str] = "id",
        schema: str | None = None,
    ) -> None:
        """Give a table a queue state; its rows have the status `new` and are not due."""
        operations.invoke(cls(table, prefix, id, schema))

    def reverse(self) -> DropQueueState:
        """Return the operation that undoes it."""
        return DropQueueState(self.table, self.prefix, self.id, self.schema)


@Operations.register_operation("drop_queue_state")
class DropQueueState(_OfState):
    """Removes the columns and indexes of a state from a table."""

    @classmethod
    def drop_queue_state(
        cls,
        operations: Operations,
        table: str,
        prefix: str,
        *,
        id: str | Sequence[str] = "id",
        schema: str | None = None,
    ) -> None:
        """Remove a table's queue state, with everything that it contains."""
        operations.invoke(cls(table, prefix, id, schema))

    def reverse(self) -> AddQueueState:
        """Return the operation that undoes this one, except that it does not restore what the columns contained."""
        return AddQueueState(self.table, self.prefix, self.id, self.schema)


@Operations.implementation_for(AddQueueState)
def _add(operations: Operations, wanted: AddQueueState) -> None:
    columns, indexes = state_columns(wanted.prefix), _indexes(wanted)
    lacking = _lacking(operations, wanted, [*columns, *indexes])
    for column in columns:
        if column.name in lacking:
            operations.add_column(wanted.table, column, schema=wanted.schema)
    with _beside_others(operations) as concurrently:
        for index in indexes:
            if index.name not in lacking:
                continue
            if concurrently:  # an index whose creation was interrupted exists but is unusable
                _drop_index(operations, wanted, index, concurrently)
            creation = CreateIndexOp.from_index(index)
            creation.kw["postgresql_concurrently"] = concurrently
            operations.invoke(creation)


@Operations.implementation_for(DropQueueState)
def _drop(operations: Operations, wanted: DropQueueState) -> None:
    columns, indexes = state_columns(wanted.prefix), _indexes(wanted)
    lacking = _lacking(operations, wanted, [*columns, *indexes]) if not operations.get_context().as_sql else set()
    with _beside_others(operations) as concurrently:
        for index in indexes:
            if concurrently or index.name not in lacking:
                _drop_index(operations, wanted, index, concurrently)
    options = kept_in(operations.get_context().dialect.name).dropping
    for column in reversed(columns):
        if column.name not in lacking:
            operations.drop_column(wanted.table, column.name, schema=wanted.schema, **options)


def _drop_index(operations: Operations, wanted: _OfState, index: Index, concurrently: bool) -> None:
    named: dict[str, Any] = {"table_name": wanted.table, "schema": wanted.schema}
    if concurrently:  # such an index is unusable, so it counts as missing
        named |= {"if_exists": True, "postgresql_concurrently": True}
    operations.drop_index(str(index.name), **named)


def _lacking(operations: Operations, wanted: _OfState, parts: Iterable[Column[Any] | Index]) -> set[str]:
    """Return the names of the missing parts, so that an operation that was interrupted halfway can be repeated.

    For a migration that is only printed, return all parts.

    Raises:
        ConfigurationError: the table does not exist.
    """
    if operations.get_context().as_sql:
        return {str(part.name) for part in parts}
    keys = tuple(Key(name, BigInteger()) for name in wanted.id)
    lacking = missing(operations.get_bind(), StateTable(wanted.table, wanted.schema, keys, wanted.prefix))
    if lacking == [wanted.table]:
        raise ConfigurationError(f"there is no table {wanted.table} for a queue state; create it first")
    return set(lacking)


def _indexes(wanted: _OfState) -> list[Index]:
    """Return the indexes of a state, on a table of which nothing else is known."""
    ids: list[Column[Any]] = [Column(name, BigInteger, primary_key=True) for name in wanted.id]
    columns = state_columns(wanted.prefix)
    return add_indexes(Table(wanted.table, MetaData(schema=wanted.schema), *ids, *columns), wanted.prefix)


@contextmanager
def _beside_others(operations: Operations) -> Iterator[bool]:
    """Create indexes outside a transaction if the database can, so that others can write in the meantime."""
    context = operations.get_context()
    if context.dialect.name != "postgresql":
        yield False
        return
    with context.autocommit_block():
        yield True
