"""The schema plans, which do nothing because there are no tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from duerow.errors import NotSupported
from duerow.plan import Plan
from duerow.stores.memory.plans.single_step import alone
from duerow.stores.memory.state import State


class MemorySchema:
    """There are no tables to check or create; see `duerow.store.SchemaStore`."""

    def check(self) -> Plan[None]:
        """Do nothing: there are no tables."""
        return alone(_nothing)

    def migrate(self) -> Plan[list[str]]:
        """Do nothing: there are no tables."""
        return alone(_no_migrations)

    def migration_sql(self) -> str:
        """Return a comment: there is nothing to run."""
        return "-- The in-memory store has no tables: there is nothing to run.\n"

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Raise NotSupported: this store has no logins."""
        raise NotSupported("the in-memory store has no roles: it belongs to the process that made it")


def _nothing(state: State, now: datetime) -> None:
    return None


def _no_migrations(state: State, now: datetime) -> list[str]:
    return []
