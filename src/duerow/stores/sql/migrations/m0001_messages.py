"""The table of messages, and the notes of sleeping consumers."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return what creates them, each with its indexes."""
    metadata = MetaData(schema=tables.schema)
    bytewise = Text(collation=dialect.bytewise)
    big = BigInteger().with_variant(Integer(), "sqlite")  # SQLite numbers rows by INTEGER PRIMARY KEY only
    message = Table(
        f"{tables.prefix}message",
        metadata,
        Column("id", big, Identity(always=False), primary_key=True),
        Column("queue", bytewise, nullable=False),
        Column("key", bytewise),
        Column("kind", Text, nullable=False),
        Column("payload", dialect.json, nullable=False),
        Column("headers", dialect.json),
        Column("status", Text, nullable=False),
        Column("due_at", dialect.moment),
        Column("place_at", dialect.moment),
        Column("first_due_at", dialect.moment, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("leased_by", Text),
        Column("leased_until", dialect.moment),
        Column("created_at", dialect.moment, nullable=False),
        Column("last_attempt_at", dialect.moment),
        Column("last_error", dialect.json),
        *(CheckConstraint(f"json_valid({name})") for name in ("payload",) if dialect.checks_json),
        CheckConstraint("status IN ('new', 'error', 'done', 'dead')"),
        sqlite_autoincrement=True,
        # Half of each page is left free for the new versions that every claim makes; what is dead goes early.
        postgresql_with={"fillfactor": 50, "autovacuum_vacuum_scale_factor": 0.02, "autovacuum_vacuum_threshold": 1000},
    )
    columns = message.c
    live = text("key IS NOT NULL AND status IN ('new', 'error')")
    indexes = [
        _index(f"{tables.prefix}message_due", columns.queue, columns.due_at, columns.id, where="due_at IS NOT NULL"),
        _index(f"{tables.prefix}message_resting", columns.queue, columns.id, where="due_at IS NULL"),
        Index(
            f"{tables.prefix}message_key",
            columns.queue,
            columns.key,
            unique=True,
            sqlite_where=live,
            postgresql_where=live,
        ),
    ]
    created: list[Executable | ExecutableDDLElement] = [CreateTable(message), *map(CreateIndex, indexes)]
    if dialect.capabilities.wakes_consumers and dialect.server_clock:
        waiting = Table(
            f"{tables.prefix}waiting",
            metadata,
            Column("queue", bytewise, primary_key=True),
            Column("until", dialect.moment, nullable=False),
        )
        created.append(CreateTable(waiting))
    return created


def _index(name: str, *columns: Column[object], where: str) -> Index:
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))
