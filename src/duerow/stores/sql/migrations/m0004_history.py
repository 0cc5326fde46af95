"""The tables of finished turns and of remembered keys."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, SmallInteger, Table, text
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return the statements that create the tables, with their indexes."""
    metadata = MetaData(schema=tables.schema)
    bytewise = dialect.word
    history = Table(
        f"{tables.prefix}history",
        metadata,
        Column("id", BigInteger, primary_key=True, autoincrement=False),
        Column("token", BigInteger, primary_key=True, autoincrement=False),
        Column("queue", bytewise, nullable=False),
        Column("key", bytewise),
        Column("kind", dialect.text, nullable=False),
        Column("payload", dialect.json, nullable=False),
        Column("headers", dialect.json),
        Column("group", bytewise),
        Column("priority", SmallInteger, nullable=False),
        Column("outcome", dialect.text, nullable=False),
        Column("moved_to", bytewise),
        Column("attempts", Integer, nullable=False),
        Column("created_at", dialect.moment, nullable=False),
        Column("first_due_at", dialect.moment, nullable=False),
        Column("due_at", dialect.moment, nullable=False),
        Column("started_at", dialect.moment, nullable=False),
        Column("finished_at", dialect.moment, nullable=False),
        Column("worker", dialect.text),
        Column("error", dialect.json),
        Column("until", dialect.moment, nullable=False),
    )
    remembered = Table(
        f"{tables.prefix}remembered",
        metadata,
        Column("queue", bytewise, primary_key=True),
        Column("key", bytewise, primary_key=True),
        Column("id", BigInteger, nullable=False),
        Column("until", dialect.moment, nullable=False),
    )
    past, keyed = history.c, text("key IS NOT NULL")
    name = f"{tables.prefix}history"
    place = (past.finished_at, past.id, past.token)
    indexes = [
        Index(f"{name}_finished", past.queue, *place),
        Index(f"{name}_key", past.queue, past.key, *place, sqlite_where=keyed, postgresql_where=keyed),
        Index(f"{name}_until", past.until),
        Index(f"{tables.prefix}remembered_until", remembered.c.until),
    ]
    return [CreateTable(history), CreateTable(remembered), *map(CreateIndex, indexes)]
