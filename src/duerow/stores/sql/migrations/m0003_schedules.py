"""The table of schedules."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, MetaData, Table, text
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.tables import Tables


def statements(tables: Tables, dialect: Dialect) -> list[Executable | ExecutableDDLElement]:
    """Return the statements that create the table, with its index."""
    schedule = Table(
        f"{tables.prefix}schedule",
        MetaData(schema=tables.schema),
        Column("name", dialect.word, primary_key=True),
        Column("definition", dialect.json, nullable=False),
        Column("next_at", dialect.moment),
        Column("last_at", dialect.moment),
        Column("version", BigInteger, nullable=False),
        *(CheckConstraint(f"json_valid({name})") for name in ("definition",) if dialect.checks_json),
    )
    waits = text("next_at IS NOT NULL")
    due = Index(f"{tables.prefix}schedule_due", schedule.c.next_at, sqlite_where=waits, postgresql_where=waits)
    return [CreateTable(schedule), CreateIndex(due)]
