"""The columns of a queue state in a table of the user's own: their names, types, defaults and index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Index,
    Integer,
    String,
    Table,
    Text,
    TypeDecorator,
    inspect,
    literal_column,
    text,
)
from sqlalchemy.dialects.mysql import DATETIME
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from duerow.clock import micros, moment, span
from duerow.errors import ConfigurationError
from duerow.message import check_moment

PARTS: Final = (
    "status",
    "due_at",
    "place_at",
    "first_due_at",
    "attempts",
    "token",
    "leased_by",
    "leased_until",
    "last_attempt_at",
    "last_error",
    "finished_at",
)
"""What a state consists of, in the order of `QueueState`; each is a column of this name behind the prefix."""

MARIADB: Final = ("mysql", "mariadb")
"""What SQLAlchemy calls it, after the engine's URL."""

_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Moment(TypeDecorator[datetime]):
    """An aware UTC datetime; kept as duerow keeps time: on SQLite in microseconds since 1970, on MariaDB in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type of the database."""
        if dialect.name in MARIADB:
            return dialect.type_descriptor(DATETIME(fsp=6))
        return dialect.type_descriptor(BigInteger() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Return the moment as the database takes it; raise InvalidMessage for one without a time zone."""
        checked = check_moment("a moment of a queue state", value)
        if checked is None:
            return None
        if dialect.name in MARIADB:
            return checked.astimezone(UTC).replace(tzinfo=None)
        return micros(checked) if dialect.name == "sqlite" else checked

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Return what the database gave as a moment in UTC."""
        if value is None:
            return None
        if dialect.name == "sqlite":
            return moment(value)
        if dialect.name in MARIADB:
            kept: datetime = value.replace(tzinfo=UTC)
            return kept
        known: datetime = value if value.tzinfo is UTC else value.astimezone(UTC)
        return known


class DatabaseTime(FunctionElement[datetime]):
    """The database's own time, as part of an INSERT or UPDATE of the ORM's."""

    inherit_cache = True
    type = Moment()


class LaterTime(ColumnElement[datetime]):
    """The database's own time and so much later."""

    inherit_cache = False
    type = Moment()

    def __init__(self, later: timedelta) -> None:
        self.later = span(later)


@compiles(LaterTime)
def _later_time(element: LaterTime, compiler: Any, **named: Any) -> str:
    now = compiler.process(DatabaseTime(), **named)
    microseconds = str(element.later)
    if compiler.dialect.name == "sqlite":
        return f"({now} + {microseconds})"
    if compiler.dialect.name in MARIADB:
        return f"({now} + INTERVAL {microseconds} MICROSECOND)"
    return f"({now} + {microseconds} * INTERVAL '1 microsecond')"


@compiles(DatabaseTime, "postgresql")
def _postgresql_time(element: DatabaseTime, compiler: Any, **_: Any) -> str:
    return "statement_timestamp()"


@compiles(DatabaseTime, *MARIADB)
def _mariadb_time(element: DatabaseTime, compiler: Any, **_: Any) -> str:
    return "UTC_TIMESTAMP(6)"


@compiles(DatabaseTime, "sqlite")
def _sqlite_time(element: DatabaseTime, compiler: Any, **_: Any) -> str:
    # SQLite tells milliseconds at most; both parts are read at the same moment of a statement.
    whole = "CAST(strftime('%s', 'now') AS INTEGER) * 1000000"
    return f"({whole} + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)"


@dataclass(frozen=True)
class StateTable:
    """Where a queue state is kept.

    Attributes:
        name: the table.
        schema: the database schema that holds it; None: the connection's default.
        id: its primary key, one integer column.
        prefix: what the names of the state's columns begin with, before an underscore.
    """

    name: str
    schema: str | None
    id: str
    prefix: str

    @property
    def queue(self) -> str:
        """What the queue is called."""
        return f"{self.name}.{self.prefix}"

    def column(self, part: str) -> str:
        """Return the name of a column."""
        return f"{self.prefix}_{part}"


def check_prefix(prefix: object) -> str:
    """Return the prefix if columns can be called so, else raise ConfigurationError."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise ConfigurationError(
            f"a queue state cannot be called {prefix!r:.80}: its columns begin with it, so use 1 to 40 lower-case "
            "ASCII letters, digits and _, a letter first"
        )
    return prefix


def state_columns(prefix: str) -> list[Column[Any]]:
    """Return new columns for a state, in the order of PARTS; a row that says nothing of them is new and not due."""
    kinds: dict[str, tuple[TypeEngine[Any], str | None]] = {
        "status": (String(10), "'new'"),
        "due_at": (Moment(), None),
        "place_at": (Moment(), None),
        "first_due_at": (Moment(), None),
        "attempts": (Integer(), "0"),
        "token": (BigInteger(), "0"),
        "leased_by": (Text(), None),
        "leased_until": (Moment(), None),
        "last_attempt_at": (Moment(), None),
        "last_error": (JSON(none_as_null=True), None),
        "finished_at": (Moment(), None),
    }
    checked = check_prefix(prefix)
    return [
        Column(
            f"{checked}_{part}",
            kind,
            nullable=default is None,
            server_default=None if default is None else text(default),
        )
        for part, (kind, default) in kinds.items()
    ]


INDEXES: Final = ("due", "dead")


def index_name(table: str, prefix: str, kind: str) -> str:
    """Return the name of an index of a state, whose `kind` is one of INDEXES."""
    return f"ix_{table}_{prefix}_{kind}"


def add_indexes(table: Table, prefix: str) -> list[Index]:
    """Add the indexes of a state to a table that has its columns; return those that it did not have yet.

    One by which rows are claimed, without the finished ones; and one of the dead, which people look for. On MariaDB,
    where an index is of all rows, the finished ones stand apart in both.
    """
    due, status, ids = table.c[f"{prefix}_due_at"], table.c[f"{prefix}_status"], list(table.primary_key.columns)
    parts: dict[str, tuple[list[Any], ColumnElement[bool]]] = {
        "due": ([due, *ids], due.is_not(None)),
        "dead": ([status, *ids], status == literal_column("'dead'")),
    }
    known = {index.name for index in table.indexes}
    return [
        Index(name, *columns, postgresql_where=which, sqlite_where=which)
        for kind, (columns, which) in parts.items()
        if (name := index_name(table.name, prefix, kind)) not in known
    ]


def missing(connection: Connection, state: StateTable) -> list[str]:
    """Return the names of the columns and indexes of a state that its table lacks; the table's own if it is not there.

    An index whose making broke off, as CREATE INDEX CONCURRENTLY may, counts as one that is not there.
    """
    inspector = inspect(connection)
    if not inspector.has_table(state.name, schema=state.schema):
        return [state.name]
    columns = {str(one["name"]) for one in inspector.get_columns(state.name, schema=state.schema)}
    indexes = {str(one["name"]) for one in inspector.get_indexes(state.name, schema=state.schema)}
    if inspector.dialect.name == "postgresql":
        usable = text(
            "SELECT relname FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid "
            "WHERE indisvalid AND relname = ANY (:names)"
        )
        indexes = set(connection.execute(usable, {"names": sorted(indexes)}).scalars())
    wanted = [state.column(part) for part in PARTS]
    wanted_indexes = [index_name(state.name, state.prefix, kind) for kind in INDEXES]
    return [name for name in wanted if name not in columns] + [name for name in wanted_indexes if name not in indexes]
