"""The plans of the SQL stores: which statements, in which order, and what their answers mean."""

from __future__ import annotations

from duerow.plan import Plan
from duerow.stores.sql.plans.changing import Changing
from duerow.stores.sql.plans.charting import Charting
from duerow.stores.sql.plans.core import Step
from duerow.stores.sql.plans.counting import Counting
from duerow.stores.sql.plans.indexing import Indexes
from duerow.stores.sql.plans.lending import Lendings
from duerow.stores.sql.plans.receiving import Receiving
from duerow.stores.sql.plans.scheduling import Scheduling
from duerow.stores.sql.plans.staging import Staging

__all__ = ["SqlStore", "Step"]


class SqlStore(Receiving, Lendings, Staging, Changing, Counting, Scheduling, Indexes, Charting):
    """The contract on an SQL database; see `duerow.store.Store`, whose promises are not repeated here.

    Args:
        dialect: which database.
        prefix: what the names of all tables begin with.
        schema: the database schema that holds them.
        clock: tells the time instead of the database.
    """

    def check(self) -> Plan[None]:
        """Compare the tables with this version; see Store.check."""
        yield from self.migrations.check(self._step)

    def migrate(self) -> Plan[list[str]]:
        """Bring the tables up to this version; see Store.migrate."""
        return (yield from self.migrations.migrate(self._step))

    def migration_sql(self) -> str:
        """Return the statements of all migrations; see Store.migration_sql."""
        return self.migrations.sql()
