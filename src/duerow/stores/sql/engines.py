"""Engines of duerow's own: how each database is connected to when only a URL is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, NoSuchModuleError
from sqlalchemy.pool import AsyncAdaptedQueuePool, QueuePool

from duerow.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

RESTED: Final = 5.0
"""Seconds at rest after which a connection is tried before it is lent: the server may have gone meanwhile."""

BLIND_WAYS: Final = ("enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_hashjoin", "enable_mergejoin")
"""What PostgreSQL may not plan on duerow's own connections unless there is no other way.

Every statement of ours is served by an index. A table that was never analysed, or was empty when a statement was
prepared, misleads the planner: a claim of 1,000 out of 300,000 rows took seconds by sorting the queue.
"""

BUSY_TIMEOUT: Final = 30_000
"""Milliseconds for which SQLite waits for another writer."""

_OF_SQLITE3: Final = {"timeout", "detect_types", "check_same_thread", "cached_statements", "isolation_level"}
"""What an SQLite URL may say to Python's own driver."""


@dataclass(frozen=True)
class Driving:
    """How a family of databases is driven that this module does not know.

    Attributes:
        blocking: SQLAlchemy's name of the blocking driver.
        awaited: that of the awaited one.
        query: what the URL says behind its question mark unless it says something else.
        prepare: prepares the connections of an engine.
        needs: what must be installed besides the driver's module.
    """

    blocking: str
    awaited: str
    query: Mapping[str, str]
    prepare: Callable[[Engine], None]
    needs: str


def own_engine(url: str, options: Mapping[str, Any], driving: Driving | None = None) -> Engine:
    """Return a blocking engine for a URL.

    Raises:
        ConfigurationError: the URL cannot be read, or its driver is not installed.
    """
    parsed, settings = _parsed(url, options)
    known = {
        "sqlite": "sqlite+pysqlite",
        "postgresql": "postgresql+psycopg",
        "mysql": "mysql+pymysql",
        "mariadb": "mysql+pymysql",
    }
    full = _driven(parsed, known, driving, None if driving is None else driving.blocking)
    try:
        engine = create_engine(full, poolclass=QueuePool, **_arguments(parsed))
    except ImportError as error:
        raise _no_driver(parsed, error, driving) from error
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(f"cannot connect as the URL says: {error}") from error
    return _prepared(engine, settings, driving)


def own_async_engine(url: str, options: Mapping[str, Any], driving: Driving | None = None) -> AsyncEngine:
    """Return an awaited engine for a URL; raises as `own_engine`."""
    from sqlalchemy.ext.asyncio import create_async_engine  # the blocking face needs it not, and it brings the ORM

    parsed, settings = _parsed(url, options)
    known = {
        "sqlite": "sqlite+aiosqlite",
        "postgresql": "postgresql+psycopg_async",
        "mysql": "mysql+asyncmy",
        "mariadb": "mysql+asyncmy",
    }
    full = _driven(parsed, known, driving, None if driving is None else driving.awaited)
    try:
        engine = create_async_engine(
            full,
            poolclass=AsyncAdaptedQueuePool,
            pool_reset_on_return=None,  # whoever had it ended its transaction; to do so again takes a wait
            **_arguments(parsed),
        )
    except ImportError as error:
        raise _no_driver(parsed, error, driving) from error
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(f"cannot connect as the URL says: {error}") from error
    _prepared(engine.sync_engine, settings, driving)
    return engine


def _driven(url: URL, known: Mapping[str, str], driving: Driving | None, driver: str | None) -> URL:
    """Return the URL with its driver, and what that has to be told."""
    if driving is None or driver is None:
        return url.set(drivername=known[url.get_backend_name()])
    return url.set(drivername=driver, query={**driving.query, **url.query})


def _parsed(url: str, options: Mapping[str, Any]) -> tuple[URL, dict[str, Any]]:
    """Return the URL for the driver, and what is said in it or beside it for duerow."""
    try:
        parsed = make_url(url)
        family = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise ConfigurationError(f"cannot read the URL: {error}") from error
    known = {"sqlite": {"synchronous", "busy_timeout"}, "postgresql": {"prepare_threshold"}}.get(family, set())
    settings = {name: parsed.query[name] for name in known if name in parsed.query} | dict(options)
    if unknown := set(options) - known:
        raise ConfigurationError(
            f"{family} has no setting {', '.join(sorted(unknown))}; it has {', '.join(sorted(known)) or 'none'}"
        )
    if family == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigurationError("an SQLite database in memory is one connection's own; use a file, or memory://")
    if family == "sqlite" and "uri" not in parsed.query:
        _check_sqlite_query(set(parsed.query) - known, known)
    return parsed.difference_update_query(known), settings


def _check_sqlite_query(said: set[str], ours: set[str]) -> None:
    """Refuse what nobody would look at: SQLAlchemy drops what it does not know."""
    if unknown := said - _OF_SQLITE3:
        raise ConfigurationError(
            f"an SQLite URL has no setting {', '.join(sorted(unknown))}; it has "
            f"{', '.join(sorted(ours | _OF_SQLITE3))}, and with uri=true those of SQLite itself"
        )


def _arguments(url: URL) -> dict[str, Any]:
    shared = {"pool_size": 5, "max_overflow": 60, "pool_timeout": 60}
    if url.get_backend_name() == "sqlite":
        return {**shared, "connect_args": {"isolation_level": None, "check_same_thread": False}}
    return {**shared, "isolation_level": "AUTOCOMMIT"}


def _no_driver(url: URL, error: ImportError, driving: Driving | None) -> ConfigurationError:
    extra = {"sqlite": "aio", "mariadb": "mysql"}.get(url.get_backend_name(), url.get_backend_name())
    if isinstance(error, ModuleNotFoundError):
        return ConfigurationError(
            f"{url.get_backend_name()}:// needs the module {error.name}: pip install 'duerow[{extra}]'"
        )
    also = "" if driving is None else f"; it needs {driving.needs}"
    return ConfigurationError(f"the driver of {url.get_backend_name()}:// cannot be loaded: {error}{also}")


def _prepared(engine: Engine, settings: Mapping[str, Any], driving: Driving | None) -> Engine:
    if driving is not None:
        driving.prepare(engine)
        _try_out_rested(engine)
        return engine
    match engine.dialect.name:
        case "sqlite":
            _prepare_sqlite(engine, settings)
        case "mysql":
            _prepare_mysql(engine)
            _try_out_rested(engine)
        case _:
            _prepare_postgresql(engine, settings)
            _try_out_rested(engine)
    return engine


def _prepare_sqlite(engine: Engine, settings: Mapping[str, Any]) -> None:
    synchronous = str(settings.get("synchronous", "FULL")).upper()
    if synchronous not in ("NORMAL", "FULL", "EXTRA"):
        raise ConfigurationError(f"synchronous is {synchronous!r}; say FULL (default), NORMAL or EXTRA")
    try:
        busy_timeout = int(settings.get("busy_timeout", BUSY_TIMEOUT))
    except ValueError as error:
        raise ConfigurationError("busy_timeout is a number of milliseconds") from error

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {busy_timeout:d}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.close()


def _prepare_postgresql(engine: Engine, settings: Mapping[str, Any]) -> None:
    threshold = _threshold(settings.get("prepare_threshold", 5))

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        driver = getattr(connection, "driver_connection", connection)
        driver.prepare_threshold = threshold
        wanted = ["TIME ZONE 'UTC'"]
        if threshold is not None:  # else a pooler may hand this session on to somebody else
            # A database or a role may have another level by default.
            wanted.append("default_transaction_isolation = 'read committed'")
            # Where there is no other way it counts as so dear that the server would compile the statement first: 0.1 s.
            wanted += [f"{way} = off" for way in (*BLIND_WAYS, "jit")]
        cursor = connection.cursor()
        cursor.execute("; ".join(f"SET {setting}" for setting in wanted))
        cursor.close()


def _prepare_mysql(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")  # which locks no gaps
        # No text is cut, and a backslash is what a pattern says it is.
        modes = "CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_TRANS_TABLES')"
        cursor.execute(f"SET SESSION sql_mode = {modes}")
        cursor.close()


def _try_out_rested(engine: Engine) -> None:
    """Try out what has been at rest for a while, before it is lent: the server may have closed it."""

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


def _threshold(said: object) -> int | None:
    """Return after how many executions a statement is prepared; None: never."""
    if str(said).lower() in ("none", "off", ""):
        return None
    if not str(said).isascii() or not str(said).isdigit():
        raise ConfigurationError(f"prepare_threshold is a number of executions, or none: not {said!r:.80}")
    return int(str(said))
