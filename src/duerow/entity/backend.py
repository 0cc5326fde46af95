"""How to open the queue of a state in the user's table, depending on the database family of the user's engine."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from duerow.clock import Clock
from duerow.errors import NotSupported
from duerow.store import AsyncConnections, Connections, Store, find_backend
from duerow.stores.sql.entities.columns import StateTable


@runtime_checkable
class EntityBackend(Protocol):
    """A family of databases in which the user's tables can be queues."""

    def open_entities(
        self, engine: Any, state: StateTable, deletes: bool, clock: Clock | None
    ) -> tuple[Store, Connections]:
        """Open for blocking calls, with an Engine; `deletes`: whether to delete rows that are done."""
        ...

    def aopen_entities(
        self, engine: Any, state: StateTable, deletes: bool, clock: Clock | None
    ) -> tuple[Store, AsyncConnections]:
        """Open for awaited calls, with an AsyncEngine."""
        ...


def backend_of(engine: Any) -> EntityBackend:
    """Return the family of an engine's database.

    Raises:
        ConfigurationError: no installed family supports it (NotSupported: its family does not support queues in user
            tables).
    """
    backend = find_backend(engine)
    if not isinstance(backend, EntityBackend):
        raise NotSupported(f"queues in your own tables work only with SQL databases, not with {engine.dialect.name}")
    return backend
