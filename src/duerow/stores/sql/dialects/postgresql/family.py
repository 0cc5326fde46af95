"""How to connect to a PostgreSQL server."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Engine, event

from duerow.errors import ConfigurationError, shown
from duerow.store.backends import Naming
from duerow.stores.sql import Family
from duerow.stores.sql.connections.engines import Drivers, Settings, in_autocommit
from duerow.stores.sql.dialects.postgresql import diagnosis
from duerow.stores.sql.dialects.postgresql.array_values import adapt, take_array_values
from duerow.stores.sql.dialects.postgresql.dialect import BLIND_WAYS, PostgreSQL


def _arguments(url: URL) -> dict[str, Any]:
    # Otherwise SQLAlchemy looks up the type hstore when it first connects; without that, it reads such values itself.
    return {**in_autocommit(url), "use_native_hstore": False}


def _prepare(engine: Engine, settings: Settings) -> None:
    threshold = _threshold(settings.get("prepare_threshold", 5))
    take_array_values(engine.dialect)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        driver = getattr(connection, "driver_connection", connection)
        adapt(driver)
        driver.prepare_threshold = None  # several statements at once cannot be prepared
        wanted = ["TIME ZONE 'UTC'"]
        if threshold is not None:  # otherwise a pooler may give this session to another client
            # The database or the role may default to another level.
            wanted.append("default_transaction_isolation = 'read committed'")
            # If no other plan exists, a disabled one has such a high cost that JIT compilation would start: 0.1 s.
            wanted += [f"{way} = off" for way in (*BLIND_WAYS, "jit")]
        cursor = connection.cursor()
        cursor.execute("; ".join(f"SET {setting}" for setting in wanted))
        cursor.close()
        driver.prepare_threshold = threshold


def _threshold(said: object) -> int | None:
    """Return the number of executions after which a statement is prepared; None: never."""
    if str(said).lower() in ("none", "off", ""):
        return None
    if not str(said).isascii() or not str(said).isdigit():
        raise ConfigurationError(f"prepare_threshold must be a number of executions or none, not {shown(said)}")
    return int(str(said))


postgresql = Family(
    PostgreSQL(),
    Drivers(
        blocking="postgresql+psycopg",
        awaited="postgresql+psycopg_async",
        extra=("postgresql", "postgresql"),
        prepare=_prepare,
        settings=frozenset(("prepare_threshold",)),
        arguments=_arguments,
        naming=Naming("postgres", 5432, "public"),
    ),
    diagnosis.CHECKS,
)
