"""duerow's own engines: how it connects to each database if it is only given a URL."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, NoSuchModuleError
from sqlalchemy.pool import AsyncAdaptedQueuePool, QueuePool

from duerow.errors import ConfigurationError
from duerow.store.backends import Naming

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

RESTED: Final = 5.0
"""Idle seconds after which a connection is tested before it is lent: the server may have closed it."""

AT_HAND: Final = 4
"""How many connections are kept at hand; with the async API, by each event loop and in addition to its pool."""

SEVERAL: Final = {"host", "port"}
"""Query parameters that a URL may have several times: the servers that psycopg tries one after the other."""

Settings = Mapping[str, Any]
"""The settings in a URL or a call that are for duerow rather than the driver."""


def any_url(url: URL) -> None:
    """Accept any URL."""


def in_autocommit(url: URL) -> dict[str, Any]:
    """Make each statement its own transaction unless a transaction has been begun."""
    return {"isolation_level": "AUTOCOMMIT"}


@dataclass(frozen=True)
class Drivers:
    """The drivers of a database family, and how engines for it are created from a URL.

    Attributes:
        blocking: SQLAlchemy's name for the blocking driver.
        awaited: SQLAlchemy's name for the async driver.
        extra: the extras that install the blocking and the async driver, as in `pip install 'duerow[extra]'`.
        prepare: prepares an engine's connections according to the settings; raises ConfigurationError if one is wrong.
        settings: the names of the settings that `prepare` accepts.
        query: query parameters that are added to a URL unless it already has them.
        needs: the software that must be installed in addition to the driver's module; empty: none.
        check: raises ConfigurationError for a URL that cannot be used.
        require: raises SchemaOutdated if the database does not exist yet and connecting would create an empty one.
        arguments: returns further arguments for creating the engine.
        rests: whether a server may close idle connections.
        naming: how data catalogs name databases; None: they do not know the family.
    """

    blocking: str
    awaited: str
    extra: tuple[str, str]
    prepare: Callable[[Engine, Settings], None]
    settings: frozenset[str] = frozenset()
    query: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    check: Callable[[URL], None] = any_url
    require: Callable[[URL], None] = any_url
    arguments: Callable[[URL], Mapping[str, Any]] = in_autocommit
    rests: bool = True
    naming: Naming | None = None


def own_engine(url: str, options: Settings, driving: Drivers) -> Engine:
    """Return a blocking engine for a URL.

    Raises:
        ConfigurationError: the URL cannot be read, or its driver is not installed.
    """
    parsed, settings = _parsed(url, options, driving)
    try:
        engine = create_engine(
            _driven(parsed, driving.blocking, driving), poolclass=QueuePool, **_arguments(parsed, driving)
        )
    except ImportError as error:
        raise _no_driver(parsed, error, driving, driving.extra[0]) from error
    except (ArgumentError, TypeError, ValueError) as error:
        raise ConfigurationError(f"cannot connect with this URL: {error}") from error
    return _prepared(engine, settings, driving)


def own_async_engine(url: str, options: Settings, driving: Drivers) -> AsyncEngine:
    """Return an async engine for a URL; raises the same errors as `own_engine`."""
    from sqlalchemy.ext.asyncio import create_async_engine  # the blocking API does not need it, and it imports the ORM

    parsed, settings = _parsed(url, options, driving)
    try:
        engine = create_async_engine(
            _driven(parsed, driving.awaited, driving),
            poolclass=AsyncAdaptedQueuePool,
            **_arguments(parsed, driving),
        )
    except ImportError as error:
        raise _no_driver(parsed, error, driving, driving.extra[1]) from error
    except (ArgumentError, TypeError, ValueError) as error:
        raise ConfigurationError(f"cannot connect with this URL: {error}") from error
    _prepared(engine.sync_engine, settings, driving)
    return engine


def _driven(url: URL, driver: str, driving: Drivers) -> URL:
    """Return the URL with its driver and the query parameters that the driver needs."""
    return url.set(drivername=driver, query={**driving.query, **url.query})


def _parsed(url: str, options: Settings, driving: Drivers) -> tuple[URL, dict[str, Any]]:
    """Return the driver's URL and duerow's settings, taken from the URL and the options."""
    try:
        parsed = make_url(url)
        family = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise ConfigurationError(f"cannot read the URL: {error}") from error
    if parsed.port is not None and not 1 <= parsed.port <= 65_535:
        raise ConfigurationError(f"the port in the URL must be from 1 to 65535, not {parsed.port}")
    if twice := sorted(name for name in parsed.query.keys() - SEVERAL if not isinstance(parsed.query[name], str)):
        raise ConfigurationError(f"the URL sets {', '.join(twice)} more than once; keep one of each")
    known = driving.settings
    settings = {name: parsed.query[name] for name in known if name in parsed.query} | dict(options)
    if unknown := set(options) - known:
        raise ConfigurationError(
            f"{family} has no setting {', '.join(sorted(unknown))}; it has {', '.join(sorted(known)) or 'none'}"
        )
    driving.check(parsed)
    return parsed.difference_update_query(known), settings


def _arguments(url: URL, driving: Drivers) -> dict[str, Any]:
    return {
        "pool_size": 5,
        "max_overflow": 60,
        "pool_timeout": 60,
        # The transaction has already ended when a connection is returned. A rollback would cost a round trip, and if
        # the server has closed the connection, the pool would log a traceback.
        "pool_reset_on_return": None,
        **driving.arguments(url),
    }


def _no_driver(url: URL, error: ImportError, driving: Drivers, extra: str) -> ConfigurationError:
    family = url.get_backend_name()
    if isinstance(error, ModuleNotFoundError):
        return ConfigurationError(f"{family}:// needs the module {error.name}; run pip install 'duerow[{extra}]'")
    also = f"; it needs {driving.needs}" if driving.needs else ""
    return ConfigurationError(f"the driver of {family}:// cannot be loaded: {error}{also}")


def _prepared(engine: Engine, settings: Settings, driving: Drivers) -> Engine:
    driving.prepare(engine, settings)
    if driving.rests:
        _try_out_rested(engine)
    return engine


def _try_out_rested(engine: Engine) -> None:
    """Test connections that have been idle for a while before they are lent: the server may have closed them."""

    @event.listens_for(engine, "checkin")
    def note(_: Any, record: Any) -> None:
        record.info["at_rest_since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def try_out(connection: Any, record: Any, _: Any) -> None:
        if time.monotonic() - record.info.get("at_rest_since", float("inf")) < RESTED:
            return
        try:
            cursor = connection.cursor()
            cursor.execute("SELECT 1")
            cursor.close()
        except Exception as error:
            raise DisconnectionError("the server has closed this connection") from error
