"""The tables of joins and of declared pipelines."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, MetaData, Table, text
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return the statements that create the tables, with an index for expired sets."""
    metadata = MetaData(schema=tables.schema)
    bytewise = dialect.word
    sets = Table(
        f"{tables.prefix}set",
        metadata,
        Column("queue", bytewise, primary_key=True),
        Column("correlation", bytewise, primary_key=True),
        Column("set_id", BigInteger),
        Column("parts", Integer, nullable=False),
        Column("closed_until", dialect.moment),
    )
    past = text("closed_until IS NOT NULL")
    closed = Index(f"{tables.prefix}set_closed", sets.c.closed_until, sqlite_where=past, postgresql_where=past)
    part = Table(
        f"{tables.prefix}part",
        metadata,
        Column("set_id", BigInteger, primary_key=True, autoincrement=False),
        Column("part_id", BigInteger, primary_key=True, autoincrement=False),
        Column("content", dialect.json, nullable=False),
    )
    pipeline = Table(
        f"{tables.prefix}pipeline",
        metadata,
        Column("name", bytewise, primary_key=True),
        Column("definition", dialect.json, nullable=False),
        Column("version", BigInteger, nullable=False),
        *(CheckConstraint(f"json_valid({name})") for name in ("definition",) if dialect.checks_json),
    )
    create_sets = dialect.create_table(sets, {"fillfactor": 50})  # each new part updates the row of its set
    return [create_sets, CreateIndex(closed), CreateTable(part), CreateTable(pipeline)]
