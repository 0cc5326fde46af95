"""The types of columns, how values are passed to drivers and read back, and the limits of a statement."""

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
"""The places of the moments in a row of `statements.RECORD`."""


class Types(ABC):
    """A database's name, abilities and types. By default it stores moments with a time zone, and JSON as text.

    Attributes:
        name: SQLAlchemy's name of the dialect.
        capabilities: what a store on it can do.
        callers: the drivers whose own connections can be passed as `within=`.
        moment: the type of a moment.
        span: the type of a length of time.
        json: the type of JSON text.
        bytewise: the collation that compares text byte for byte.
        told_word: the type of a `word` among a statement's bound values.
        told_json: the type of JSON in rows of bound values.
        text: the type of text of a modest length that is not in an index.
        takes_parts: whether some statements are executed as several, see `statements.parts`.
        writes_alone: whether only one transaction writes at a time, and a read that turns to writing late may fail.
        server_clock: whether the database provides the time; if not, each statement is passed it.
        keeps_dead_entries: whether rows that were taken stay at the head of the index for a while, so that claims
            must start behind them.
        ranges_by_rows: whether an index serves a range with bounds from another row; if not, only constants.
        asks_for_indexes: whether a statement that an index of a payload field may serve fails where there is none.
        compares_rows: whether several columns can be compared together, as in (a, b) > (1, 2) and (a, b) IN ….
        answers_held: whether an insert that skips rows whose key is taken also returns the ids of the holders.
        checks_json: whether the table needs a check that its JSON is valid.
        keys: which of KEYS a primary key of a user's table can have.
        dropping: options that Alembic needs to drop a column that has a default.
        chunk: how many rows one statement takes at most.
        most_values: how many bound values one statement takes at most; None: as many as fit into a statement.
        chunk_bytes: how many characters of payload one statement takes at most.
        savepoints: what sets a savepoint, what goes back to it, and what checks constraints now that are otherwise
            checked at the end, if there are such.
        apart: two queries, the second of which answers whether each of them was a transaction of its own; None if
            an index cannot be made outside a transaction while others write. Else there is an `index_lock`, too.
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
    most_values: int | None = 32_766  # what SQLite takes unless it was built otherwise, and half of PostgreSQL's
    chunk_bytes = 8 << 20
    savepoints: tuple[str, str, str | None] = ("SAVEPOINT duerow_row", "ROLLBACK TO SAVEPOINT duerow_row", None)
    apart: tuple[Executable, Executable] | None = None

    @property
    def names(self) -> frozenset[str]:
        """All of SQLAlchemy's names for it."""
        return frozenset((self.name,))

    @property
    def word(self) -> TypeEngine[Any]:
        """The type of text that is compared byte for byte and may be in an index."""
        return Text(collation=self.bytewise)

    def plain(self) -> SqlDialect:
        """Return SQLAlchemy's dialect for printing statements without values."""
        made: SqlDialect = registry.load(self.name)()
        return made

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return SQLAlchemy's dialect in which statements are written for a driver.

        Args:
            driver: SQLAlchemy's dialect of the driver.
            raw: whether they go directly to the driver, without SQLAlchemy.
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
        """Return a function that turns moments like this one, not null, into UTC datetimes; None if they are."""
        zone = getattr(value, "tzinfo", None)
        if zone is UTC:
            return None
        return in_utc if zone is None else self.read_moment

    def record(self, row: Sequence[Any]) -> Record:
        """Return a row of `statements.RECORD` as a record, with its damage if it has any."""
        values = list(row)
        for place in MOMENTS:
            if values[place] is not None:
                values[place] = self.read_moment(values[place])
        return examined(values)

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return whether rows of `statements.LENT` are of their usual types; a column normally holds no others."""
        return True

    def read_json(self, value: Any) -> Any:
        """Return a value of `Member.json` decoded, None for null."""
        return None if value is None else decode_json(value)


def in_utc(value: datetime) -> datetime:
    """Return a moment that is stored in UTC without a time zone."""
    return value.replace(tzinfo=UTC)
