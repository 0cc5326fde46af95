"""Check and create the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from duerow.plan import Plan
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.migrations import Migrations
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.rights import grants, rights_query, tried
from duerow.stores.sql.statements import Statement
from duerow.stores.sql.tables import Tables


@lru_cache(maxsize=32)
def _questions(dialect: Dialect, tables: Tables, ours: bool) -> tuple[Statement | None, Statement | None]:
    """Return the queries that check the server and the tables before their first use."""
    asked = dialect.server(), dialect.unfit(list(tables.message.metadata.tables.values()), ours)
    server, unfit = (None if one is None else Statement(one) for one in asked)
    return server, unfit


def check_database(context: Context, ours: bool = True) -> Plan[None]:
    """Raise ConfigurationError unless the server and the tables meet the requirements.

    Args:
        context: shared by all plans of the store.
        ours: whether the tables are duerow's own.
    """
    server, unfit = _questions(context.dialect, context.tables, ours)
    if server is not None:
        context.dialect.check_server((yield context.step(server, {}))[0])
    if unfit is not None:
        context.dialect.check_tables((yield context.step(unfit, {})))


class SchemaPlans(Plans):
    """Plans for the tables themselves."""

    def check(self) -> Plan[None]:
        """Compare the tables with this version; see Schema.check."""
        yield from check_database(self.context)
        yield from self._migrations.check(self.context.step)

    def migrate(self) -> Plan[list[str]]:
        """Migrate the tables to this version; see Schema.migrate."""
        yield from check_database(self.context)
        return (yield from self._migrations.migrate(self.context.step))

    def migration_sql(self) -> str:
        """Return the statements of all migrations; see Schema.migration_sql."""
        return self._migrations.sql()

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Return the SQL that grants roles their rights; see Schema.roles_sql."""
        return grants(self.context.tables, self.context.dialect, names)

    def may_consume(self) -> Plan[bool]:
        """Ask the database for all rights at once, if it can tell; see `duerow.store.KnowsRights`."""
        asked = rights_query(self.context.tables, self.context.dialect)
        if asked is None:
            return False
        ((held,),) = yield self.context.step(asked, {})
        return held is True

    def consumer_trials(self) -> Mapping[str, Callable[[], Plan[None]]]:
        """Return plans that try the rights that a worker needs; see `duerow.store.TriesRights`."""
        statements = tried(self.context.tables, self.context.dialect)
        return {right: partial(self._tried, statement) for right, statement in statements.items()}

    def _tried(self, statement: Statement) -> Plan[None]:
        yield self.context.step(statement, {})

    @property
    def _migrations(self) -> Migrations:
        return Migrations(self.context.tables, self.context.dialect)
