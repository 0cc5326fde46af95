"""Checks of duerow's tables on any SQL database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy.schema import CreateIndex

from duerow.plan import Plan
from duerow.store import Check, Finding
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.migrations import MIGRATIONS
from duerow.stores.sql.statements import Statement, Step
from duerow.stores.sql.tables import Tables

SqlCheck = Callable[[Tables, timedelta], Plan[list[Finding]]]
"""Like `duerow.store.Check`, for the tables of one installation."""


def ask(query: Any) -> Plan[Sequence[Any]]:
    """Run one query; return its rows."""
    rows: Sequence[Any] = yield Step(Statement(query, kept=False), {})
    return rows


def checks(tables: Tables, dialect: Dialect, of_family: Mapping[str, SqlCheck]) -> dict[str, Check]:
    """Return the checks for one installation: the common ones and the ones for its database family."""
    found: dict[str, Check] = {"indexes": lambda patience: missing_indexes(tables, dialect)}
    return found | {name: partial(check, tables) for name, check in of_family.items()}


def missing_indexes(tables: Tables, dialect: Dialect) -> Plan[list[Finding]]:
    """Find indexes that the migrations create and that are missing or invalid."""
    found: list[Finding] = []
    for create in _created(tables, dialect):
        table, name = create.element.table, str(create.element.name)
        if table is None:
            continue
        usable = dict((yield from ask(dialect.indexes(table))))
        if name not in usable:
            said = str(dialect.ddl(create).compile(dialect=dialect.plain())).strip()
            todo = f"Create it: {' '.join(said.split())}"
            found.append(Finding("index-missing", "error", "an index is missing", name, todo))
    for name, valid in (yield from ask(dialect.indexes(tables.message))):
        if not valid:
            todo = "Drop it, and declare its queue again or create it again"
            found.append(Finding("index-unusable", "error", "an index cannot be used", str(name), todo))
    return found


def _created(tables: Tables, dialect: Dialect) -> list[CreateIndex]:
    """Return the statements of the migrations that create indexes."""
    return [one for _, of in MIGRATIONS for one in of(tables, dialect) if isinstance(one, CreateIndex)]
