"""The SQL databases: one set of statements and plans, and a dialect for the differences."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from duerow.errors import ConfigurationError
from duerow.store import AsyncConnections, Connections, Settings, Store
from duerow.stores.sql.connections.engines import Drivers, own_engine
from duerow.stores.sql.connections.sync.connections import BlockingConnections
from duerow.stores.sql.diagnosis import SqlCheck
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.plans.store import SqlStore

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from duerow.clock import Clock
    from duerow.stores.sql.connections.aio.connections import AwaitedConnections
    from duerow.stores.sql.entities.columns import StateTable
    from duerow.stores.sql.entities.plans import EntityStore


class Family:
    """Opens stores on one SQL database; see `duerow.store.Backend`.

    Args:
        dialect: the database.
        driving: turns a URL into a connection.
        checks: the checks of `duerow.doctor` for this family, in addition to those for every SQL database.

    Attributes:
        blocking: the connection class of the blocking face.
    """

    blocking: type[BlockingConnections] = BlockingConnections

    def __init__(self, dialect: Dialect, driving: Drivers, checks: Mapping[str, SqlCheck] | None = None) -> None:
        self.dialect, self.driving, self.checks = dialect, driving, checks or {}
        self.naming = driving.naming

    def open(self, target: Any, settings: Settings) -> tuple[Store, Connections]:
        """Open by URL or by the user's Engine."""
        if _is_awaited(target):
            raise ConfigurationError("an AsyncEngine goes with duerow.aio.connect(); here give an Engine or a URL")
        own = isinstance(target, str)
        engine: Engine = own_engine(target, settings.options, self.driving) if own else target
        store = self._store(settings, self.dialect_for(target))
        if own and not settings.creates:
            self.driving.require(engine.url)
        return store, self.blocking(engine, store.context, own, settings.read_timeout)

    def aopen(self, target: Any, settings: Settings) -> tuple[Store, AsyncConnections]:
        """Open by URL or by the user's AsyncEngine."""
        if isinstance(target, Engine):
            raise ConfigurationError("an Engine goes with duerow.connect(); here give an AsyncEngine or a URL")
        from duerow.stores.sql.connections.engines import own_async_engine

        own = isinstance(target, str)
        engine: AsyncEngine = own_async_engine(target, settings.options, self.driving) if own else target
        store = self._store(settings, self.dialect_for(target))
        if own and not settings.creates:
            self.driving.require(engine.url)
        return store, self._awaited()(engine, store.context, own, settings.read_timeout)

    def open_entities(
        self, engine: Engine, state: StateTable, deletes: bool, clock: Clock | None
    ) -> tuple[Store, Connections]:
        """Open the queue of a state in the user's table, with the user's Engine; see `duerow.entity`."""
        store = self._entities(engine, state, deletes, clock)
        return store, self.blocking(engine, store.context, own=False)

    def aopen_entities(
        self, engine: AsyncEngine, state: StateTable, deletes: bool, clock: Clock | None
    ) -> tuple[Store, AsyncConnections]:
        """Like `open_entities`, with the user's AsyncEngine."""
        store = self._entities(engine, state, deletes, clock)
        return store, self._awaited()(engine, store.context, own=False)

    def _entities(
        self, engine: Engine | AsyncEngine, state: StateTable, deletes: bool, clock: Clock | None
    ) -> EntityStore:
        from duerow.stores.sql.entities.plans import EntityStore  # rarely needed, and the ORM is slow to import

        return EntityStore(self.dialect_for(engine), engine.dialect, state, deletes, clock)

    def dialect_for(self, target: Any) -> Dialect:
        """Return the dialect for a URL or an engine; the engine need not be connected yet."""
        return self.dialect

    def _awaited(self) -> type[AwaitedConnections]:
        """Return the connection class of the async face; the blocking face does not import it."""
        from duerow.stores.sql.connections.aio.connections import AwaitedConnections

        return AwaitedConnections

    def unopened(self, target: str, settings: Settings) -> SqlStore:
        """Return the plans for a URL, without a connection to a server."""
        return self._store(settings, self.dialect_for(target))

    def _store(self, settings: Settings, dialect: Dialect) -> SqlStore:
        store = SqlStore(dialect, settings.prefix, settings.schema, settings.clock, self.checks)
        dialect.prelude(settings.prefix, settings.schema)  # raises if a schema is given and the database has none
        return store


def _is_awaited(target: Any) -> bool:
    """Return whether the target is an AsyncEngine: impossible unless AsyncEngine, and so the ORM, was imported."""
    module = sys.modules.get("sqlalchemy.ext.asyncio")
    return module is not None and isinstance(target, module.AsyncEngine)
