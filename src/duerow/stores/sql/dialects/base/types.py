"""The types of columns, how values are passed to drivers and read back, and the limits of statements."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import BigInteger, DateTime, Text
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects import registry
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.clock import span
from duerow.store import Capabilities, Record, examined
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base.constants import KEYS
from duerow.stores.sql.dialects.base.json_values import JsonText, decode_json

MOMENTS: Final = (9, 10, 14, 15, 16)
"""The positions of the moments in a row of `statements.RECORD`."""


class Types(ABC):
    """A database's name, capabilities and types. By default it stores moments with a time zone, and JSON as text.

    Attributes:
        name: SQLAlchemy's name of the dialect.
        capabilities: the capabilities of a store on this database.
        callers: the drivers whose own connections can be passed as `within=`.
        moment: the type of a moment.
        span: the type of a length of time.
        json: the type of JSON text.
        bytewise: the collation that compares text byte for byte.
        told_word: the type of a `word` in a statement's bound values.
        told_json: the type of JSON in rows of bound values.
        text: the type of moderately long text that is not in an index.
        takes_parts: whether some statements are executed as several statements; see `statements.parts`.
        writes_alone: whether only one transaction writes at a time, and may fail if it writes after it has read.
        writes_in_parts: whether a statement may contain others that write, and return their rows together.
        sends_ahead: whether a driver can send a statement before an earlier one is answered.
        server_clock: whether the database provides the time; if not, it is passed to each statement.
        keeps_dead_entries: whether entries of claimed rows stay at the head of the index for a while, so that claims
            must start after them.
        ranges_by_rows: whether an index serves a range whose bounds come from another row; if not, only constants.
        asks_for_indexes: whether a statement written for the index of a payload field fails if the index is missing.
        compares_rows: whether several columns can be compared together, as in (a, b) > (1, 2) and (a, b) IN ….
        answers_held: whether an insert that skips rows with taken keys also returns the ids of the rows that hold them.
        checks_json: whether the table needs a check that its JSON is valid.
        keys: the types in KEYS that a primary key of a user's table can have.
        dropping: options that Alembic needs to drop a column with a default.
        chunk: the maximum number of rows in one statement.
        most_values: the maximum number of bound values in one statement; None: as many as fit into a statement.
        chunk_bytes: the maximum number of characters of payload in one statement.
        savepoints: the statement that sets a savepoint, the one that rolls back to it, and, if the database has
            deferred constraints, the one that checks them immediately.
        apart: two queries, the second of which tells whether each ran in its own transaction; None if an index
            cannot be created outside a transaction without blocking writes. If set, `index_lock` must work too.
    """

    name: str
    capabilities: Capabilities = Capabilities(wakes_consumers=False, receives=True)
    callers: Mapping[str, Caller] = {}
    moment: TypeEngine[Any] = DateTime(timezone=True)
    span: TypeEngine[Any] = BigInteger()  # microseconds
    json: JsonText = JsonText("TEXT")
    bytewise: str
    told_word: TypeEngine[Any] = Text()
    told_json: TypeEngine[Any] = Text()
    text: TypeEngine[Any] = Text()
    takes_parts = False
    writes_alone = False
    writes_in_parts = False
    sends_ahead = False
    server_clock = True
    keeps_dead_entries = False
    ranges_by_rows = True
    asks_for_indexes = False
    compares_rows = True
    answers_held = False
    checks_json = False
    keys: tuple[type, ...] = KEYS
    dropping: Mapping[str, Any] = {}
    chunk = 5_000
    most_values: int | None = 32_766  # SQLite's default limit, and half of PostgreSQL's
    chunk_bytes = 8 << 20
    savepoints: tuple[str, str, str | None] = ("SAVEPOINT duerow_row", "ROLLBACK TO SAVEPOINT duerow_row", None)
    apart: tuple[Executable, Executable] | None = None

    @property
    def names(self) -> frozenset[str]:
        """All of SQLAlchemy's names for the database."""
        return frozenset((self.name,))

    @property
    def word(self) -> TypeEngine[Any]:
        """The type of text that is compared byte for byte and may be in an index."""
        return Text(collation=self.bytewise)

    def plain(self) -> SqlDialect:
        """Return the SQLAlchemy dialect for printing statements without values."""
        made: SqlDialect = registry.load(self.name)()
        return made

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the SQLAlchemy dialect that compiles statements for a driver.

        Args:
            driver: the driver's SQLAlchemy dialect.
            raw: whether statements go directly to the driver, without SQLAlchemy.
        """
        return driver

    def write_moment(self, moment: datetime | None) -> Any:
        """Return a moment in the driver's form."""
        return moment

    def write_span(self, length: timedelta | None) -> Any:
        """Return a length of time in the driver's form."""
        return None if length is None else span(length)

    def read_moment(self, value: Any) -> datetime | None:
        """Return the driver's value as a moment in UTC; `duerow.clock.FIRST` or `LAST` if it is out of range."""
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else in_utc(value)

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return a function that converts non-null values like this one to UTC datetimes; None if they need none."""
        zone = getattr(value, "tzinfo", None)
        if zone is UTC:
            return None
        return in_utc if zone is None else self.read_moment

    def record(self, row: Sequence[Any]) -> Record:
        """Return a row of `statements.RECORD` as a record, which notes any damage."""
        values = list(row)
        for place in MOMENTS:
            if values[place] is not None:
                values[place] = self.read_moment(values[place])
        return examined(values)

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return whether rows of `statements.LENT` have the expected types; most databases enforce column types."""
        return True

    def read_json(self, value: Any) -> Any:
        """Return the decoded value of `Member.json`; None for null."""
        return None if value is None else decode_json(value)


def in_utc(value: datetime) -> datetime:
    """Return a moment that is stored in UTC without a time zone."""
    return value.replace(tzinfo=UTC)
