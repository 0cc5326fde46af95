"""Scans with ADBC drivers, which return rows as Arrow.

The store writes the statement when a read is planned; the reader needs only the driver and PyArrow, and no store. In a
process that has just started, importing SQLAlchemy and inspecting the tables takes longer than reading a hundred
thousand rows. For the same reason, this module uses the driver's low-level interface: its PEP 249 interface imports
pandas.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Self

from duerow.errors import DuerowError

if TYPE_CHECKING:
    from adbc_driver_manager import AdbcConnection
    from pyarrow import Table

    from duerow.store import ReadPage

RESTED: Final = 5.0
"""Idle seconds after which a connection is tested before it is used again, since the server may be gone."""


@dataclass(frozen=True)
class AdbcScan:
    """A scan for an ADBC driver; see `duerow.store.ArrowScan`.

    Attributes:
        driver: the module of the driver; its `connect` takes the address.
        address: the database.
        prepare: a query that is run first on each connection.
        text: the statement.
        positions: the names of the statement's values, in the order of its placeholders.
        values: the values that are the same for all pages.
        shown: the names of the columns.
        dialect: the class whose `explain` turns the driver's error into one of duerow's, as `module:name`.
    """

    driver: str
    address: str = field(repr=False)
    prepare: str
    text: str
    positions: tuple[str, ...]
    values: Mapping[str, Any] = field(repr=False)
    shown: tuple[str, ...]
    dialect: str

    @contextmanager
    def reading(self) -> Iterator[ReadPage | None]:
        """Yield an object that reads pages within the block; None if the driver is not installed.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        if not is_installed(self.driver):
            yield None
            return
        with self._explained():
            way = _rested(self) or Way(self)
        try:
            yield partial(self._page, way)
        except BaseException:  # its state is unknown
            way.close()
            raise
        _at_rest[way.place] = way, time.monotonic()

    def _page(self, way: Way, after: tuple[int, int], last: int, limit: int) -> Table:
        place = {"after": after[0], "after_token": after[1], "last": last, "limit_in": limit}
        values = {**self.values, **place}
        with self._explained():
            found = way.read(self.text, [values[name] for name in self.positions])
        return found.rename_columns(list(self.shown))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DuerowError:
            raise
        except Exception as error:  # the dialect is imported only when it is needed
            raise (resolve_name(self.dialect)().explain(error) or error) from error


class Way:
    """A connection of an ADBC driver, on which each statement is a separate transaction.

    Args:
        scan: the scan whose database it connects to.
    """

    def __init__(self, scan: AdbcScan) -> None:
        from adbc_driver_manager import AdbcConnection

        self.place = scan.driver, scan.address, scan.prepare
        with ExitStack() as undoing:
            database = undoing.enter_context(import_module(scan.driver).connect(scan.address))
            self._connection: AdbcConnection = undoing.enter_context(AdbcConnection(database))
            self._prepare = scan.prepare
            self.read(scan.prepare, [])
            self._held = undoing.pop_all()

    def read(self, text: str, values: list[Any]) -> Table:
        """Return the rows of a query."""
        import pyarrow as pa
        from adbc_driver_manager import AdbcStatement

        from duerow.arrow.arrays import one

        with AdbcStatement(self._connection) as statement:
            statement.set_sql_query(text)
            if values:
                statement.prepare()
                arrays = [one(value) for value in values]
                statement.bind(pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(arrays))]))
            found, _ = statement.execute_query()
            return pa.RecordBatchReader.from_stream(found).read_all()

    def tried(self) -> Self | None:
        """Return the connection if the server still answers; otherwise close it."""
        try:
            self.read(self._prepare, [])
        except Exception:  # any failure: if the next connection fails too, it will tell why
            with suppress(Exception):  # a discarded connection need not close properly
                self.close()
            return None
        return self

    def close(self) -> None:
        """Close the connection."""
        self._held.close()


_at_rest: Final[dict[tuple[str, str, str], tuple[Way, float]]] = {}
"""Idle connections and since when they are idle, by database: connecting takes longer than reading a page."""


def _rested(scan: AdbcScan) -> Way | None:
    """Return an idle connection if it still works."""
    way, since = _at_rest.pop((scan.driver, scan.address, scan.prepare), (None, 0.0))
    return way if way is None or time.monotonic() - since < RESTED else way.tried()


def is_installed(driver: str) -> bool:
    """Return whether a driver can be imported."""
    try:
        import_module(driver)
    except ModuleNotFoundError:
        return False
    return True


@atexit.register
def close_at_rest() -> None:
    """Close idle connections: the driver cannot do that while Python shuts down."""
    while _at_rest:
        _, (way, _) = _at_rest.popitem()
        way.close()
