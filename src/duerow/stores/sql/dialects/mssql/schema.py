"""The tables in T-SQL: ids from a sequence, words as keys, and the related locks and rights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    Table,
    Text,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    select,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base.schema import Schema
from duerow.stores.sql.dialects.mssql.compiler import Word
from duerow.stores.sql.dialects.mssql.elements import IfMissing, NeverLocked, escaped


class TsqlSchema(Schema):
    """The tables in T-SQL: ids from a sequence, words as keys, and the related locks and rights."""

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return values of the sequence, which does not take part in transactions."""
        zeros = "REPLICATE(CAST(',0' AS VARCHAR(MAX)), :count - 1)"
        query = text(f"SELECT NEXT VALUE FOR {ids_of(message.name, schema)} AS id FROM OPENJSON('[0' + {zeros} + ']')")  # noqa: S608 - built from checked names
        return query.bindparams(bindparam("count", type_=Integer())).columns(column("id", BigInteger))

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return a column whose default is the next value of a sequence: identity columns do not accept given ids."""
        default = text(f"NEXT VALUE FOR {ids_of(f'{prefix}message', schema)}")
        return Column("id", BigInteger, primary_key=True, autoincrement=False, server_default=default)

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return UPDATE on the sequence of ids, the right to take its next value."""
        return [("UPDATE", ids_of(f"{prefix}message", schema))] if adds else []

    def ddl(self, statement: Any) -> Any:
        """Write index conditions in T-SQL, and make a primary key of words nonclustered."""
        if isinstance(statement, CreateIndex):
            index = statement.element
            where = index.dialect_options["postgresql"]["where"]
            index.dialect_options["mssql"]["where"] = None if where is None else text(_filter(str(where)))
        if isinstance(statement, CreateTable):
            table = statement.element
            if sum(isinstance(key.type, Word) for key in table.primary_key) > 1:
                table.primary_key.dialect_options["mssql"]["clustered"] = False  # clustered keys hold at most 900 bytes
            if statement.if_not_exists:
                return IfMissing(table)
            if "leased_until" in table.c:
                return NeverLocked(table)
        return statement

    def table_exists(self, table: Table) -> Executable:
        """Query a row if the database has the table."""
        name = literal(self.named(table), Text())
        found = func.object_id(name, literal_column("N'U'"), type_=Integer())
        return select(literal_column("1").label("found")).where(found.is_not(None))

    def migration_lock(self, prefix: str) -> Executable:
        """Take a lock that ends with the transaction."""
        return text(
            "DECLARE @granted INT; "
            f"EXEC @granted = sp_getapplock @Resource = N'{prefix}migrate', @LockMode = N'Exclusive', "
            "@LockOwner = N'Transaction', @LockTimeout = 3600000; "
            "IF @granted < 0 THROW 51222, N'another process has been migrating for more than an hour', 1;"
        )

    def prelude(self, prefix: str, schema: str | None) -> Sequence[Any]:
        """Create the schema, and the sequence of ids."""
        ids = ids_of(f"{prefix}message", schema)
        first: list[Any] = []
        if schema:
            name = _quoted(schema)
            said = f"CREATE SCHEMA {name}".replace("'", "''")
            first = [text(f"IF SCHEMA_ID(N'{escaped(schema)}') IS NULL EXEC(N'{_colons(said)}')")]
        create = f"CREATE SEQUENCE {ids} AS BIGINT START WITH 1 INCREMENT BY 1 CACHE 1000"
        return [*first, text(_colons(f"IF OBJECT_ID(N'{escaped(ids)}', N'SO') IS NULL {create}"))]


def _filter(where: str) -> str:
    """Return the condition of a filtered index in T-SQL."""
    return re.sub(r"\bkey\b", "[key]", where).replace('"group"', "[group]").replace("<> ''", "<> 0x")


def ids_of(table: str, schema: str | None) -> str:
    """Return the name of the sequence that numbers the rows of a table."""
    return f"[{table}_id]" if schema is None else f"{_quoted(schema)}.[{table}_id]"


def _quoted(name: str) -> str:
    return "[" + name.replace("]", "]]") + "]"


def _colons(sql: str) -> str:
    return sql.replace(":", "\\:")
