"""The columns that store a queue state in the user's table: names, types, defaults and indexes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
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
    MetaData,
    String,
    Table,
    TypeDecorator,
    UnicodeText,
    dialects,
    func,
    inspect,
    literal_column,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from duerow.clock import span
from duerow.errors import ConfigurationError, InvalidMessage, NotSupported, shown
from duerow.message import check_moment
from duerow.store.backends import backend_named, has_backend, schemes
from duerow.stores.sql.dialects.base import Dialect as SqlDialect
from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.entities.keys import Key

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
"""The parts of a state, in the order of `QueueState`; each is stored in a column named prefix and part."""

_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,39}")
_UNFIT = re.compile(r"[^A-Za-z0-9_.:/-]")


@cache
def kept_in(name: str) -> SqlDialect:
    """Return the dialect for a database, given SQLAlchemy's name for it.

    Raises:
        ConfigurationError: no store for it is installed (NotSupported if it has no tables).
    """
    dialect: SqlDialect | None = getattr(backend_named(name), "dialect", None)
    if dialect is None:
        raise NotSupported(f"a queue state needs a table, and {name} has none")
    return dialect


class Moment(TypeDecorator[datetime]):
    """An aware UTC datetime, stored in duerow's format for time on each database: on SQLite microseconds since 1970.

    To print a statement, SQLAlchemy also calls this with a dialect that belongs to no real database.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    __module__ = "duerow.entity"  # the module from which Alembic's migrations import it

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the database's type."""
        return dialect.type_descriptor(
            kept_in(dialect.name).moment if has_backend(dialect.name) else self.impl_instance
        )

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Return the value for the database; raise InvalidMessage for a datetime without a time zone."""
        if isinstance(value, DatabaseTime):
            raise InvalidMessage(
                "a bulk insert takes only values, so it cannot use the database's clock: give a time, as in "
                "schedule(datetime.now(UTC)), or add the rows to the session"
            )
        checked = check_moment("a time of a queue state", value)
        return kept_in(dialect.name).write_moment(checked) if has_backend(dialect.name) else checked

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Return a value from the database as a datetime in UTC."""
        return kept_in(dialect.name).read_moment(value)


class DatabaseTime(FunctionElement[datetime]):
    """The database's own time, in an INSERT or UPDATE of the ORM."""

    inherit_cache = True
    type = Moment()


class LaterTime(ColumnElement[datetime]):
    """The database's own time plus a span."""

    inherit_cache = False
    type = Moment()

    def __init__(self, later: timedelta) -> None:
        self.later = span(later)


@compiles(DatabaseTime)
def _time(element: DatabaseTime, compiler: Any, **named: Any) -> str:
    name = compiler.dialect.name
    written: str = compiler.process(kept_in(name).clock() if has_backend(name) else func.now(), **named)
    return written


@compiles(LaterTime)
def _later_time(element: LaterTime, compiler: Any, **named: Any) -> str:
    name = compiler.dialect.name
    if not has_backend(name):
        return f"({compiler.process(func.now(), **named)} + {element.later} microseconds)"
    dialect = kept_in(name)
    written = compiler.process(dialect.later(dialect.clock(), const(element.later)), **named)
    return f"({written})"


@dataclass(frozen=True)
class StateTable:
    """Where a queue state is stored.

    Attributes:
        name: the table.
        schema: the database schema that holds it; None: the connection's default.
        keys: the columns of its primary key.
        prefix: the prefix of the state's columns, without the underscore.
    """

    name: str
    schema: str | None
    keys: tuple[Key, ...]
    prefix: str

    @property
    def queue(self) -> str:
        """The name of the queue: table and state, with _ for characters that are not allowed in names."""
        return _UNFIT.sub("_", f"{self.name}.{self.prefix}")[:100]

    def column(self, part: str) -> str:
        """Return the name of a column."""
        return f"{self.prefix}_{part}"


def check_prefix(prefix: object) -> str:
    """Return the prefix if it is valid for column names; otherwise raise ConfigurationError."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise ConfigurationError(
            f"a queue state cannot be called {shown(prefix)}: its columns begin with this name, so use 1 to 40 "
            "lower-case ASCII letters, digits and _, beginning with a letter"
        )
    return prefix


def state_columns(prefix: str) -> list[Column[Any]]:
    """Return new columns for a state, in the order of PARTS; by default a row is new and not due."""
    kinds: dict[str, tuple[TypeEngine[Any], str | None]] = {
        "status": (String(10), "'new'"),
        "due_at": (Moment(), None),
        "place_at": (Moment(), None),
        "first_due_at": (Moment(), None),
        "attempts": (Integer(), "0"),
        "token": (BigInteger(), "0"),
        "leased_by": (UnicodeText(), None),
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
    """Return the name of an index of a state; `kind` is one of INDEXES."""
    return f"ix_{table}_{prefix}_{kind}"


def _only(which: ColumnElement[bool]) -> dict[str, Any]:
    """Return the options for a partial index, on the databases that support it."""
    return dict.fromkeys(_of_some(), which)


@cache
def _of_some() -> tuple[str, ...]:
    """Return the names of the options for the condition of a partial index, for the dialects that support it."""
    found = []
    for name in sorted(schemes().intersection(dialects.__all__)):
        known = dialects.registry.load(name).construct_arguments or ()
        if any(issubclass(Index, what) and "where" in options for what, options in known):
            found.append(f"{name}_where")
    return tuple(found)


def add_indexes(table: Table, prefix: str) -> list[Index]:
    """Add the missing indexes of a state to a table with its columns; return them.

    One is for claims and excludes finished rows; the other is for dead rows. On MariaDB, where indexes contain all
    rows, both keep finished rows separate.
    """
    due, status, ids = table.c[f"{prefix}_due_at"], table.c[f"{prefix}_status"], list(table.primary_key.columns)
    parts: dict[str, tuple[list[Any], ColumnElement[bool]]] = {
        "due": ([due, *ids], due.is_not(None)),
        "dead": ([status, *ids], status == literal_column("'dead'")),
    }
    known = {index.name for index in table.indexes}
    return [
        Index(name, *columns, **_only(which))
        for kind, (columns, which) in parts.items()
        if (name := index_name(table.name, prefix, kind)) not in known
    ]


def missing(connection: Connection, state: StateTable) -> list[str]:
    """Return the names of a state's missing columns and indexes, or the table's name if the table is missing.

    An invalid index, such as an interrupted CREATE INDEX CONCURRENTLY leaves behind, counts as missing.
    """
    inspector = inspect(connection)
    if not inspector.has_table(state.name, schema=state.schema):
        return [state.name]
    columns = {str(one["name"]) for one in inspector.get_columns(state.name, schema=state.schema)}
    table = Table(state.name, MetaData(), schema=state.schema)
    indexes = {name for name, usable in connection.execute(kept_in(inspector.dialect.name).indexes(table)) if usable}
    wanted = [state.column(part) for part in PARTS]
    wanted_indexes = [index_name(state.name, state.prefix, kind) for kind in INDEXES]
    return [name for name in wanted if name not in columns] + [name for name in wanted_indexes if name not in indexes]
