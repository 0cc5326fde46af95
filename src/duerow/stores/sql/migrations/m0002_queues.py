"""The tables of queue settings and of consumers."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, MetaData, Table
from sqlalchemy.schema import CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return the statements that create the tables."""
    metadata = MetaData(schema=tables.schema)
    bytewise = dialect.word
    queue = Table(
        f"{tables.prefix}queue",
        metadata,
        Column("name", bytewise, primary_key=True),
        Column("paused", Boolean, nullable=False),
        Column("draining", Boolean, nullable=False),
        Column("definition", dialect.json),
        *(CheckConstraint(f"{name} IS NULL OR json_valid({name})") for name in ("definition",) if dialect.checks_json),
    )
    consumer = Table(
        f"{tables.prefix}consumer",
        metadata,
        Column("name", bytewise, primary_key=True),
        Column("about", dialect.json, nullable=False),
        Column("seen_at", dialect.moment, nullable=False),
        *(CheckConstraint(f"json_valid({name})") for name in ("about",) if dialect.checks_json),
    )
    return [CreateTable(queue), CreateTable(consumer)]
