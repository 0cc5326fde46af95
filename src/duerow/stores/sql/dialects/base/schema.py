"""The tables: their ids, how they are created and migrated, and the rights on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Identity,
    Integer,
    Table,
    TableClause,
    Text,
    column,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy.schema import CreateSchema, CreateTable
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base.types import Types


class Schema(Types):
    """The tables: their ids, how they are created and migrated, and the rights on them.

    By default ids come from identity columns, and tables are found in the information schema.
    """

    # Ids.

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return the column for message ids, which the database generates."""
        return self.number_column()

    def number_column(self) -> Column[int]:
        """Return a column of numbers that the database generates, for tables other than messages.

        SQLite only numbers rows of an INTEGER PRIMARY KEY.
        """
        big = BigInteger().with_variant(Integer(), "sqlite")
        return Column("id", big, Identity(always=False), primary_key=True)

    @abstractmethod
    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return the statement that generates `count` new ids, in ascending order."""

    # Creating and migrating the tables.

    def prelude(self, prefix: str, schema: str | None) -> Sequence[Any]:
        """Return the statements to run before creating the tables; raise if a schema is given but not supported."""
        return [CreateSchema(schema, if_not_exists=True)] if schema else []

    def create_table(self, table: Table, storage: Mapping[str, float]) -> CreateTable:
        """Return the statement that creates a table, with storage parameters that only PostgreSQL has."""
        return CreateTable(table)

    def ddl(self, statement: Any) -> Any:
        """Return a statement of a migration in this database's form."""
        return statement

    def table_exists(self, table: Table) -> Executable:
        """Return a query with one row if the table exists."""
        known = TableClause("tables", column("table_schema"), column("table_name"), schema="information_schema")
        here = (known.c.table_schema == self.schema_of(table), known.c.table_name == table.name)
        return select(literal_column("1")).where(*here)

    def schema_of(self, table: Table) -> ColumnElement[Any]:
        """Return the name of the schema that holds a table."""
        return self.current_schema() if table.schema is None else literal(table.schema, Text())

    def current_schema(self) -> ColumnElement[Any]:
        """Return the schema of tables whose names are given without one."""
        return func.current_schema()

    @abstractmethod
    def migration_lock(self, prefix: str) -> Executable | None:
        """Return the statement that makes other processes wait to migrate; None if a transaction is enough."""

    def migration_unlock(self, prefix: str) -> Executable | None:
        """Return the statement that releases this lock; None if the lock ends with the transaction."""
        return None

    # Rights.

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return the rights that a role needs in addition to those on tables, each with its object, as in GRANT.

        Args:
            prefix: the prefix of all table names.
            schema: the schema that holds them.
            adds: whether the role adds messages, which requires generating ids.

        Raises:
            NotSupported: the database has no roles.
        """
        return []

    def named(self, table: Table) -> str:
        """Return the name of a table as statements write it."""
        return self.plain().identifier_preparer.format_table(table)
