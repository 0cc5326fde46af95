"""Scans by a driver that gives rows as Arrow (ADBC), wherever they are read.

A store writes the statement where a read is planned; whoever reads needs the driver and PyArrow, and no store. A
process that has just begun takes longer to import SQLAlchemy and to look at the tables once more than to read a hundred
thousand rows. For the same reason the driver is used at its low level: the one of PEP 249 imports pandas.
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
"""Seconds at rest after which a connection is tried before it is used again: the server may have gone meanwhile."""


@dataclass(frozen=True)
class AdbcScan:
    """A scan as an ADBC driver is told it; see `duerow.store.ArrowScan`.

    Attributes:
        driver: the module of the driver; its `connect` takes the address.
        address: the database.
        prepare: a query that is carried out first on each connection.
        text: the statement.
        positions: the names of its values, in the order of its placeholders.
        values: those that are the same for all pages.
        shown: the names of the columns.
        dialect: where the class is whose `explain` makes duerow's error of the driver's, as `module:name`.
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
        """Lend what reads pages; None if the driver is not installed here.

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
        except BaseException:  # nobody knows what it is in the middle of
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
        except Exception as error:  # only now the dialect is worth its import
            raise (resolve_name(self.dialect)().explain(error) or error) from error


class Way:
    """A connection of an ADBC driver, on which each statement is a transaction of its own.

    Args:
        scan: whose database it leads to.
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
        """Return what a query finds."""
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
        """Return it if it still leads anywhere; else it is closed."""
        try:
            self.read(self._prepare, [])
        except Exception:  # whatever it is: another connection will tell, if it is no better
            with suppress(Exception):  # what is thrown away need not close well
                self.close()
            return None
        return self

    def close(self) -> None:
        """Close the connection."""
        self._held.close()


_at_rest: Final[dict[tuple[str, str, str], tuple[Way, float]]] = {}
"""Connections and since when they rest, by where they lead to: to connect takes longer than to read a page."""


def _rested(scan: AdbcScan) -> Way | None:
    """Return a connection that rests, if it still leads anywhere."""
    way, since = _at_rest.pop((scan.driver, scan.address, scan.prepare), (None, 0.0))
    return way if way is None or time.monotonic() - since < RESTED else way.tried()


def is_installed(driver: str) -> bool:
    """Return whether a driver can be imported here."""
    try:
        import_module(driver)
    except ModuleNotFoundError:
        return False
    return True


@atexit.register
def close_at_rest() -> None:
    """Close what rests: the driver cannot when Python itself is going."""
    while _at_rest:
        _, (way, _) = _at_rest.popitem()
        way.close()
