"""How SQLite files are opened: each connection uses write-ahead mode and waits for other writers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Engine, event

from duerow.errors import HOW_TO_MIGRATE, ConfigurationError, SchemaOutdated, shown
from duerow.store.backends import Naming
from duerow.stores.sql import Family
from duerow.stores.sql.connections.engines import Drivers, Settings
from duerow.stores.sql.dialects.sqlite import diagnosis
from duerow.stores.sql.dialects.sqlite.dialect import SQLite

BUSY_TIMEOUT: Final = 30_000
"""How many milliseconds SQLite waits for another writer."""

_OF_DRIVER: Final = {"timeout", "detect_types", "check_same_thread", "cached_statements", "isolation_level"}
"""The options of Python's own driver that an SQLite URL may have."""


_SETTINGS: Final = frozenset(("synchronous", "busy_timeout"))


def _check(url: URL) -> None:
    if url.database in (None, "", ":memory:"):
        raise ConfigurationError(
            "an in-memory SQLite database belongs to a single connection; use a file, or memory://"
        )
    if "\0" in str(url.database):
        raise ConfigurationError(f"the path of an SQLite database cannot contain U+0000: {shown(url.database)}")
    if "uri" in url.query:
        return
    # Reject unknown options, which SQLAlchemy would silently drop.
    if unknown := set(url.query) - _SETTINGS - _OF_DRIVER:
        raise ConfigurationError(
            f"an SQLite URL has no setting {', '.join(sorted(unknown))}; it has "
            f"{', '.join(sorted(_SETTINGS | _OF_DRIVER))}, and with uri=true those of SQLite itself"
        )


def _require(url: URL) -> None:
    """Raise SchemaOutdated if the file does not exist: SQLite would create it, but the name is probably mistyped."""
    if url.query.get("mode") == "memory":
        return
    file = Path(str(url.database).removeprefix("file:").partition("?")[0])
    if not file.exists() and file.parent.is_dir():  # without the folder, SQLite cannot create the file
        raise SchemaOutdated(f"there is no file {str(file)!r}: is the name right? To create it, ", *HOW_TO_MIGRATE)


def _arguments(url: URL) -> dict[str, Any]:
    return {"connect_args": {"isolation_level": None, "check_same_thread": False}}


def _prepare(engine: Engine, settings: Settings) -> None:
    synchronous = str(settings.get("synchronous", "FULL")).upper()
    if synchronous not in ("NORMAL", "FULL", "EXTRA"):
        raise ConfigurationError(f"synchronous must be FULL (default), NORMAL or EXTRA, not {shown(synchronous)}")
    try:
        busy_timeout = int(settings.get("busy_timeout", BUSY_TIMEOUT))
    except ValueError as error:
        raise ConfigurationError("busy_timeout must be a number of milliseconds") from error

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {busy_timeout:d}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.close()


sqlite = Family(
    SQLite(),
    Drivers(
        blocking="sqlite+pysqlite",
        awaited="sqlite+aiosqlite",
        extra=("sqlite", "aio"),
        prepare=_prepare,
        settings=_SETTINGS,
        check=_check,
        require=_require,
        arguments=_arguments,
        naming=Naming("file"),
        rests=False,
    ),
    diagnosis.CHECKS,
)
