"""The table of counters."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, MetaData, Table, text
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables

TIMES = ("waiting", "handling")


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return the statements that create the table, with the index for old rows."""
    bytewise = dialect.word
    counter = Table(
        f"{tables.prefix}counter",
        MetaData(schema=tables.schema),
        Column("queue", bytewise, primary_key=True),
        Column("minute", dialect.moment, primary_key=True),
        Column("process", bytewise, primary_key=True),
        *(Column(name, BigInteger, nullable=False) for name in ("done", "failed", "dead", "moved")),
        *(Column(name, dialect.json) for name in TIMES),
        *(CheckConstraint(f"{name} IS NULL OR json_valid({name})") for name in TIMES if dialect.checks_json),
    )
    counts = text("process <> ''")
    old = Index(f"{tables.prefix}counter_old", counter.c.minute, sqlite_where=counts, postgresql_where=counts)
    return [CreateTable(counter), CreateIndex(old)]
