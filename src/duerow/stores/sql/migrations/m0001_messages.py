"""The tables of messages and of sleeping consumers."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return the statements that create the tables, with their indexes."""
    metadata = MetaData(schema=tables.schema)
    bytewise = dialect.word
    message = Table(
        f"{tables.prefix}message",
        metadata,
        dialect.id_column(tables.prefix, tables.schema),
        Column("queue", bytewise, nullable=False),
        Column("key", bytewise),
        Column("kind", dialect.text, nullable=False),
        Column("payload", dialect.json, nullable=False),
        Column("headers", dialect.json),
        Column("group", bytewise),
        Column("priority", SmallInteger, nullable=False),
        Column("status", dialect.text, nullable=False),
        Column("due_at", dialect.moment),
        Column("place_at", dialect.moment),
        Column("behind_at", dialect.moment),
        Column("first_due_at", dialect.moment, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("leased_by", dialect.text),
        Column("leased_until", dialect.moment),
        Column("created_at", dialect.moment, nullable=False),
        Column("last_attempt_at", dialect.moment),
        Column("last_error", dialect.json),
        *(CheckConstraint(f"json_valid({name})") for name in ("payload",) if dialect.checks_json),
        CheckConstraint("status IN ('new', 'error', 'done', 'dead')"),
        sqlite_autoincrement=True,
    )
    # Half of each page is left free for the new row versions of claims, and dead versions are vacuumed early.
    storage = {"fillfactor": 50, "autovacuum_vacuum_scale_factor": 0.02, "autovacuum_vacuum_threshold": 1000}
    for name, (kind, expression) in dialect.derived.items():
        message.append_column(Column(name, kind, Computed(expression, persisted=True)))
    create_message = dialect.create_table(message, storage)
    columns = message.c
    live = "status IN ('new', 'error')"
    line = (columns.queue, columns.priority, columns.due_at, columns.id)

    def named(what: str) -> str:
        return f"{tables.prefix}message_{what}"

    if not dialect.partial_indexes:
        indexes = [
            Index(named("due"), columns.queue, columns.line, columns.priority, columns.due_at, columns.id),
            Index(named("resting"), columns.queue, columns.rests, columns.id),
            Index(named("stopped"), columns.queue, columns.stopped, columns.id),
            Index(named("key"), columns.queue, columns.live_key, unique=True),
            Index(named("group"), columns.queue, columns.live_group, columns.id),
            Index(named("turn"), columns.queue, columns.lent_group, unique=True),
        ]
        return [create_message, *map(CreateIndex, indexes)]
    indexes = [
        _index(named("due"), *line, where='due_at IS NOT NULL AND "group" IS NULL'),
        _index(named("heads"), *line, where='due_at IS NOT NULL AND "group" IS NOT NULL'),
        _index(named("resting"), columns.queue, columns.id, where="due_at IS NULL AND behind_at IS NULL"),
        _index(  # stopped rows are few, and may come after very many dead ones
            named("stopped"),
            columns.queue,
            columns.id,
            where="due_at IS NULL AND behind_at IS NULL AND status <> 'dead'",
        ),
        _index(named("key"), columns.queue, columns.key, where=f"key IS NOT NULL AND {live}", unique=True),
        _index(named("group"), columns.queue, columns.group, columns.id, where=f'"group" IS NOT NULL AND {live}'),
        _index(
            named("turn"),  # no two rows of a group can be leased at once
            columns.queue,
            columns.group,
            where='"group" IS NOT NULL AND leased_by IS NOT NULL',
            unique=True,
        ),
    ]
    created: list[Executable | ExecutableDDLElement] = [create_message, *map(CreateIndex, indexes)]
    if dialect.capabilities.wakes_consumers and dialect.server_clock:
        waiting = Table(
            f"{tables.prefix}waiting",
            metadata,
            Column("queue", bytewise, primary_key=True),
            Column("until", dialect.moment, nullable=False),
        )
        created.append(CreateTable(waiting))
    return created


def _index(name: str, *columns: Column[object], where: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))
