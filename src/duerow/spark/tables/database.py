"""Tables in databases, through SQLAlchemy: rows are inserted exactly once, and read by a column that only grows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import entry_points
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchTableError, StatementError

from duerow.errors import ConfigurationError, DuerowError, InvalidOutcome, shown
from duerow.pipeline.table import TableSink, TableSource
from duerow.spark.tables.write import RowChunk

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

LEDGER: Final = "duerow_batches"
"""The table with the names of the chunks that were inserted; it is in the same database as their tables."""

DIVIDED: Final = "/"
"""The suffix of a second name, which is recorded for a chunk if its halves are inserted instead of it."""


class RowsRefused(DuerowError):
    """A table refuses rows because of their values, or has refused them before."""


@lru_cache(maxsize=8)
def engine_of(url: str) -> Engine:
    """Return this process's engine for a URL; JDBC URLs without parameters are accepted too.

    Its errors do not show the values of rows, because errors are kept with messages, whose payloads may be encrypted.

    Raises:
        ConfigurationError: SQLAlchemy does not understand the URL.
    """
    scheme, _, rest = url.removeprefix("jdbc:").partition("://")
    try:
        read = sa.make_url(f"{_driver(scheme)}://{rest}")
    except (ArgumentError, ValueError):  # the error may show the password
        read = None
    if read is None:
        raise ConfigurationError(
            "the url of a table cannot be read as a URL of SQLAlchemy; write for example postgresql://user@host/base"
        )
    return sa.create_engine(read, pool_pre_ping=True, hide_parameters=True)


def _driver(scheme: str) -> str:
    """Return the scheme with the driver that duerow's own store uses if it names none; unchanged if there is none."""
    for found in entry_points(group="duerow.stores", name=scheme):
        if (driving := getattr(found.load(), "driving", None)) is not None:
            return str(driving.blocking)
    return scheme


def table_of(station: TableSink | TableSource, on: Connection) -> sa.Table:
    """Return the table of a station as its database describes it.

    Raises:
        ConfigurationError: there is no such table.
    """
    schema, _, name = str(station.table).rpartition(".")
    try:
        return sa.Table(name, sa.MetaData(), schema=schema or None, autoload_with=on)
    except NoSuchTableError as error:
        raise ConfigurationError(f"{station}: its database has no table {station.table}; create it first") from error


def strange(station: TableSink, columns: Sequence[str]) -> list[str]:
    """Return the columns among these that a station's table does not have."""
    with engine_of(str(station.url)).connect() as on:
        known = table_of(station, on).columns
        return [name for name in columns if name not in known]


def insert_once(sink: TableSink, chunk: RowChunk) -> None:
    """Insert rows and record their chunk's name in the same transaction; do nothing if it is already recorded.

    Raises:
        RowsRefused: the table refuses the rows, or the chunk was divided before; nothing was inserted.
    """
    engine = engine_of(str(sink.url))
    ledger = _ledger(engine)
    try:
        with engine.begin() as on:
            if _is_there(on, ledger, sink, chunk):
                return
            on.execute(ledger.insert().values(name=chunk.name))
            table = table_of(sink, on)
            values = [_values(table, chunk.columns, row) for row in chunk.rows]
            on.execute(table.insert(), values)
    except (IntegrityError, DataError, StatementError, msgspec.ValidationError) as error:
        with engine.connect() as on:
            if _is_there(on, ledger, sink, chunk):  # another process was faster
                return
        if isinstance(error, DBAPIError) and not isinstance(error, IntegrityError | DataError):
            raise
        why = getattr(error, "orig", None) or error
        raise RowsRefused(f"{sink}: the table {sink.table} refuses a row: {str(why).strip()}") from error


def divide_once(sink: TableSink, chunk: RowChunk) -> bool:
    """Record that the halves of a chunk are inserted instead of it; return False if the chunk was already inserted.

    Otherwise a late delivery could insert the chunk in addition to its halves, if the table accepts the rows by then.
    """
    engine = engine_of(str(sink.url))
    ledger, names = _ledger(engine), (chunk.name, f"{chunk.name}{DIVIDED}")
    try:
        with engine.begin() as on:
            on.execute(ledger.insert(), [{"name": name} for name in names])
    except IntegrityError:
        with engine.connect() as on:
            return _has(on, ledger, names[1])
    return True


def _is_there(on: Connection, ledger: sa.Table, sink: TableSink, chunk: RowChunk) -> bool:
    """Return whether the rows of a chunk are in the table; raise RowsRefused if the chunk was divided."""
    if not _has(on, ledger, chunk.name):
        return False
    if _has(on, ledger, f"{chunk.name}{DIVIDED}"):
        raise RowsRefused(f"{sink}: the table {sink.table} has already refused one of these rows")
    return True


def _has(on: Connection, ledger: sa.Table, name: str) -> bool:
    return on.execute(sa.select(ledger.c.name).where(ledger.c.name == name)).first() is not None


@lru_cache(maxsize=8)
def _ledger(engine: Engine) -> sa.Table:
    """Return the table of names; create it if it is missing."""
    ledger = sa.Table(LEDGER, sa.MetaData(), sa.Column("name", sa.String(100), primary_key=True))
    try:
        ledger.create(engine, checkfirst=True)
    except DBAPIError:  # another process was faster, or this user may not create it
        if not sa.inspect(engine).has_table(LEDGER):
            raise
    return ledger


def _values(table: sa.Table, columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return {name: _value(table.columns[name], value) for name, value in zip(columns, row, strict=True)}


_TRAVEL: Final = (Decimal, datetime, date, time, timedelta, bytes, UUID, float)
"""The types whose values are text in JSON."""


_NO_NUMBERS: Final = ("nan", "inf", "-inf")


def _value(column: sa.Column[Any], value: Any) -> Any:
    """Return a JSON value as a value for the column; raise ValidationError if that is impossible."""
    if isinstance(column.type, sa.JSON) or value is None:
        return value
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    of = _python_type(column)
    if of not in _TRAVEL or not isinstance(value, str):
        return value
    if of is float:
        return float(value) if value in _NO_NUMBERS else value
    try:
        return msgspec.convert(value, of, strict=False)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(f"column {column.name}: {error}") from error


def _python_type(column: sa.Column[Any]) -> type | None:
    try:
        return column.type.python_type
    except NotImplementedError:
        return None


def rows_after(source: TableSource, after: Any) -> list[dict[str, Any]]:
    """Return the next rows of a table, in the order of the column by which it is read.

    Args:
        source: the station.
        after: the last value of that column, as a JSON value; None: from the beginning.

    Raises:
        ConfigurationError: the table or column does not exist.
        InvalidOutcome: several rows have the same value, so some of them would be missed.
    """
    with engine_of(str(source.url)).connect() as on:
        table = table_of(source, on)
        column = table.columns.get(str(source.column))
        if column is None:
            raise ConfigurationError(f"{source}: the table {source.table} has no column {source.column!r}")
        query = sa.select(table).where(column.is_not(None)).order_by(column).limit(source.rows + 1)
        if after is not None:
            query = query.where(column > _value(column, after))
        rows = [{str(name): value for name, value in row.items()} for row in on.execute(query).mappings()]
    for row, following in pairwise(rows):
        if row[column.name] == (value := following[column.name]):
            raise InvalidOutcome(
                f"{source}: several rows of the table {source.table} have the {source.column} {shown(value, 200)}; "
                "name a column without repeated values, because reading continues after the last one"
            )
    return rows[: source.rows]
