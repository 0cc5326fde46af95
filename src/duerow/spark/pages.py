"""Pages of a scan, for the tasks that read it. With an Arrow driver, tasks read without opening a store.

Where the query is planned, a scan is translated for that driver, and the translation travels to the tasks. Only a task
that cannot use it connects in the normal way, which takes a new Python process half a second.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from duerow.spark.columns import MESSAGE, TURN, of_records
from duerow.spark.options import Reach
from duerow.store import ALL_IDS, ArrowConnections, ArrowScan, Scan

if TYPE_CHECKING:
    from pyarrow import Table

    from duerow.sync.database import Database

FIRST_PAGE: Final = 1_000
"""Rows of the first page, before their size is known."""

PAGE_BYTES: Final = 16 << 20
"""The approximate size of all later pages, in bytes."""

LARGEST_PAGE: Final = 100_000
"""The maximum number of rows of a page that is read as Arrow."""

PAGE_OF_VALUES: Final = 5_000
"""The maximum number of rows of a page that is read as Python values."""


@dataclass(frozen=True)
class Pages:
    """A scan that is read page by page, so that no process holds more than a few MiB and no transaction stays open.

    Attributes:
        reach: how to reach the queues.
        query: the scan.
        names: the columns to read, including `id`, and `token` for turns.
        arrow: the scan for an Arrow driver; None if there is no such driver for the database.
    """

    reach: Reach
    query: Scan
    names: tuple[str, ...]
    arrow: ArrowScan | None

    def read(self, ranges: Sequence[tuple[int, int]], most: int | None = None) -> Iterator[Table]:
        """Read the rows of the scan; the database reads the next page while the current one is processed.

        Args:
            ranges: the first and the last id of each range, in the order in which to read them.
            most: the maximum number of rows of each range; None: all rows.
        """
        pages = self._in_order(ranges, most)
        with closing(pages), ThreadPoolExecutor(1, "duerow-pages") as ahead:
            coming = ahead.submit(next, pages, None)
            while (page := coming.result()) is not None:
                coming = ahead.submit(next, pages, None)
                yield page

    def _in_order(self, ranges: Sequence[tuple[int, int]], most: int | None) -> Generator[Table, None, None]:
        if not ranges:
            return
        with self.arrow.reading() if self.arrow is not None else nullcontext() as by_arrow:
            read = by_arrow or self._by_values
            largest = PAGE_OF_VALUES if by_arrow is None else LARGEST_PAGE
            rows = FIRST_PAGE
            for first, last in ranges:
                after, wanted = (first - 1, ALL_IDS), most
                while wanted is None or wanted > 0:
                    limit = rows if wanted is None else min(rows, wanted)
                    page = read(after, last, limit)
                    if page.num_rows:
                        yield page
                        rows = fitting(page, rows, largest)
                    if page.num_rows < limit:
                        break
                    after = self._end_of(page)
                    wanted = None if wanted is None else wanted - page.num_rows

    def _end_of(self, page: Table) -> tuple[int, int]:
        """Return the start of the next page."""
        return page.column("id")[-1].as_py(), page.column("token")[-1].as_py() if self.query.turns else ALL_IDS

    def _by_values(self, after: tuple[int, int], last: int, limit: int) -> Table:
        """Read a page through the store; see `duerow.store.ReadPage`."""
        database, page = self.reach.database, replace(self.query, after=after, last=last, limit=limit)
        records = database.run(lambda: database.store.bulk.scan(page))
        return of_records(records, self.names, TURN if self.query.turns else MESSAGE)


def pages_of(reach: Reach, database: Database, query: Scan, names: Sequence[str]) -> Pages:
    """Return the pages of a scan, for tasks on any machine.

    Args:
        reach: how tasks reach the queues.
        database: how this process reaches them.
        query: the scan.
        names: the columns to read, including `id`, and `token` for turns.
    """
    connections = database.connections
    arrow = connections.arrow_scan(query, names) if isinstance(connections, ArrowConnections) else None
    return Pages(reach, query, tuple(names), arrow)


def fitting(page: Table, rows: int, largest: int) -> int:
    """Return how many rows like these to read next: as many as fill a page, but at most four times `rows`."""
    return max(1, min(4 * rows, int(PAGE_BYTES * page.num_rows // max(page.nbytes, 1)), largest))
