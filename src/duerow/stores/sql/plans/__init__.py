"""The plans of the SQL stores: which statements, in which order, and what their answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from duerow.plan import Plan
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.plans.change import ChangePlans
from duerow.stores.sql.plans.counters import CounterPlans
from duerow.stores.sql.plans.index import IndexPlans
from duerow.stores.sql.plans.lend import LendPlans
from duerow.stores.sql.plans.pipelines import PipelinePlans
from duerow.stores.sql.plans.receive import ReceivePlans
from duerow.stores.sql.plans.schedules import SchedulePlans
from duerow.stores.sql.plans.stage import StagePlans
from duerow.stores.sql.rights import grants
from duerow.stores.sql.statements import Statement, Step
from duerow.stores.sql.tables import Tables

__all__ = ["SqlStore", "Step"]


@lru_cache(maxsize=32)
def _questions(dialect: Dialect, tables: Tables, ours: bool) -> tuple[Statement | None, Statement | None]:
    """Return what is asked of a server, and of tables, before they are used."""
    asked = dialect.server(), dialect.unfit(list(tables.message.metadata.tables.values()), ours)
    server, unfit = (None if one is None else Statement(one) for one in asked)
    return server, unfit


class SqlStore(
    ReceivePlans, LendPlans, StagePlans, ChangePlans, CounterPlans, SchedulePlans, IndexPlans, PipelinePlans
):
    """The contract on an SQL database; see `duerow.store.Store`, whose promises are not repeated here.

    Args:
        dialect: which database.
        prefix: what the names of all tables begin with.
        schema: the database schema that holds them.
        clock: tells the time instead of the database.
    """

    def check(self) -> Plan[None]:
        """Compare the tables with this version; see Store.check."""
        yield from self._check_database()
        yield from self.migrations.check(self._step)

    def migrate(self) -> Plan[list[str]]:
        """Bring the tables up to this version; see Store.migrate."""
        yield from self._check_database()
        return (yield from self.migrations.migrate(self._step))

    def _check_database(self, ours: bool = True) -> Plan[None]:
        server, unfit = _questions(self.dialect, self.tables, ours)
        if server is not None:
            self.dialect.check_server((yield self._step(server, {}))[0])
        if unfit is not None:
            self.dialect.check_tables((yield self._step(unfit, {})))

    def migration_sql(self) -> str:
        """Return the statements of all migrations; see Store.migration_sql."""
        return self.migrations.sql()

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Return what grants roles their rights; see Store.roles_sql."""
        return grants(self.tables, self.dialect, names)
