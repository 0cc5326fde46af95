"""Numbered migrations of the tables, forward only; a migration never changes after its release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import insert, literal, select
from sqlalchemy.schema import CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable

from duerow.errors import HOW_TO_MIGRATE, ConfigurationError, SchemaNewer, SchemaOutdated
from duerow.plan import BEGIN, Plan
from duerow.store.compatibility import is_beyond
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.migrations import (
    m0001_messages,
    m0002_queues,
    m0003_schedules,
    m0004_history,
    m0005_counters,
    m0006_pipelines,
    m0007_batches,
)
from duerow.stores.sql.statements import Statement
from duerow.stores.sql.tables import Tables

MIGRATIONS: Final = (
    ("0001 messages", m0001_messages.statements),
    ("0002 queues", m0002_queues.statements),
    ("0003 schedules", m0003_schedules.statements),
    ("0004 history", m0004_history.statements),
    ("0005 counters", m0005_counters.statements),
    ("0006 pipelines", m0006_pipelines.statements),
    ("0007 batches", m0007_batches.statements),
)
"""All migrations, oldest first: the name of each, and a function that returns its statements for a database.

A name may end with the oldest version that can work with the migrated tables; see `duerow.store.compatibility`.
"""

Stepping = Callable[[Statement, Mapping[str, Any]], Any]


class Migrations:
    """The migrations of one installation."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self.tables, self.dialect = tables, dialect

    def check(self, step: Stepping) -> Plan[None]:
        """Raise unless this version can work with the tables: its own, or newer ones marked as compatible with it."""
        made = yield from self._made(step)
        missing = [name for number, name in enumerate(self._names, 1) if number not in made]
        newest = max(made, default=0)
        where = f"tables {self.tables.prefix}…" + (f" in schema {self.tables.schema}" if self.tables.schema else "")
        if is_beyond(made, len(MIGRATIONS)):
            raise SchemaNewer(
                f"the {where} are of version {newest}, but this duerow supports {len(MIGRATIONS)}: upgrade duerow"
            )
        if missing:
            raise SchemaOutdated(
                f"the {where} are of version {newest}, but this duerow needs {len(MIGRATIONS)} "
                f"({', '.join(missing)}): ",
                *HOW_TO_MIGRATE,
            )

    def migrate(self, step: Stepping) -> Plan[list[str]]:
        """Run the missing migrations, one process at a time; return their names.

        The migrations share a transaction, except on databases where schema changes end transactions.
        """
        made = yield from self._made(step)
        if len(made) >= len(MIGRATIONS):
            yield from self.check(step)
            return []
        yield BEGIN
        lock = self.dialect.migration_lock(self.tables.prefix)
        if lock is not None:
            yield step(Statement(lock, kept=False), {})
        made = yield from self._made(step)
        done: list[str] = []
        try:
            if not made:
                for first in self._before():
                    yield step(Statement(first, kept=False), {})
            for number, (name, statements) in enumerate(MIGRATIONS, 1):
                if number in made:
                    continue
                for statement in self._of(statements):
                    yield step(Statement(statement, kept=False), {})
                yield step(Statement(self._note(number, name), kept=False), {})
                done.append(name)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}. Hand this to someone who may change the database:\n\n{self.sql()}"
            ) from error
        finally:
            unlock = self.dialect.migration_unlock(self.tables.prefix)
            if unlock is not None:
                yield step(Statement(unlock, kept=False), {})
        return done

    def sql(self) -> str:
        """Return the SQL for an empty database."""
        lines: list[Executable | ExecutableDDLElement] = [*self._before()]
        for number, (name, statements) in enumerate(MIGRATIONS, 1):
            lines += [*self._of(statements), self._note(number, name)]
        return "".join(f"{self._text(line)};\n\n" for line in lines)

    def _text(self, line: Any) -> str:
        compiled = line.compile(dialect=self.dialect.plain(), compile_kwargs={"literal_binds": True})
        return str(compiled).strip()

    @property
    def _names(self) -> Sequence[str]:
        return [name for name, _ in MIGRATIONS]

    def _before(self) -> list[ExecutableDDLElement]:
        """Return the statements that precede the first migration: for the schema and the table of versions."""
        version = CreateTable(self.tables.version, if_not_exists=True)
        return [*self.dialect.prelude(self.tables.prefix, self.tables.schema), self.dialect.ddl(version)]

    def _of(
        self, statements: Callable[[Tables, Dialect], Sequence[Executable | ExecutableDDLElement]]
    ) -> list[Executable | ExecutableDDLElement]:
        """Return a migration's statements in the form that this database accepts."""
        return [self.dialect.ddl(statement) for statement in statements(self.tables, self.dialect)]

    def _note(self, number: int, name: str) -> Executable:
        return insert(self.tables.version).values(version=literal(number), name=literal(name))

    def _made(self, step: Stepping) -> Plan[Mapping[int, str | None]]:
        if not (yield step(Statement(self.dialect.table_exists(self.tables.version), kept=False), {})):
            return {}
        noted = select(self.tables.version.c.version, self.tables.version.c.name)
        return {row[0]: row[1] for row in (yield step(Statement(noted, kept=False), {}))}
