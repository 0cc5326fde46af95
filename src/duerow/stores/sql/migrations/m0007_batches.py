"""The tables of batches: staged entries, and the names of operations that happen once."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, SmallInteger, Table
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return the statements that create the tables, with their indexes."""
    metadata = MetaData(schema=tables.schema)
    bytewise = dialect.word
    staging = Table(
        f"{tables.prefix}staging",
        metadata,
        dialect.number_column(),
        Column("batch", bytewise, nullable=False),
        Column("part", bytewise, nullable=False),
        Column("entries", Integer, nullable=False),
        Column("keyed", Boolean, nullable=False),
        Column("grouped", Boolean, nullable=False),
        Column("lines", dialect.json, nullable=False),
        Column("due", dialect.moment),
        Column("staged_at", dialect.moment, nullable=False),
        sqlite_autoincrement=True,
    )
    staged = Table(
        f"{tables.prefix}staged",
        metadata,
        Column("staging_id", BigInteger, primary_key=True, autoincrement=False),
        Column("place", Integer, primary_key=True, autoincrement=False),
        Column("queue", bytewise, nullable=False),
        Column("key", bytewise),
        Column("kind", dialect.text, nullable=False),
        Column("payload", dialect.json, nullable=False),
        Column("headers", dialect.json),
        Column("group", bytewise),
        Column("priority", SmallInteger, nullable=False),
        Column("due", dialect.moment),
        Column("delay", dialect.span),
    )
    # All rows of a batch are deleted when it is published.
    storage = {"autovacuum_vacuum_scale_factor": 0.02, "autovacuum_vacuum_threshold": 10_000}
    noted = Table(
        f"{tables.prefix}noted",
        metadata,
        Column("name", bytewise, primary_key=True),
        Column("noted_at", dialect.moment, nullable=False),
    )
    indexes = [
        Index(f"{tables.prefix}staging_batch", staging.c.batch, staging.c.id),
        Index(f"{tables.prefix}staging_staged", staging.c.staged_at),
        Index(f"{tables.prefix}noted_at", noted.c.noted_at),
    ]
    create_staged = dialect.create_table(staged, storage)
    return [CreateTable(staging), create_staged, CreateTable(noted), *map(CreateIndex, indexes)]
