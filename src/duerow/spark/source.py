"""Look at messages, and at turns that are over, as a frame: parallel by id range, in Arrow's format, taking nothing.

Read by the store's general `scan`, page by page, so that no task holds more than a few mebibytes and no transaction
stays open. Where the database has a driver that gives Arrow (for PostgreSQL: adbc-driver-postgresql), rows do not
become Python values on the way.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self

from msgspec.structs import replace
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import DataType, StructType

from duerow.errors import ConfigurationError
from duerow.message import LIVE
from duerow.spark.columns import MESSAGE, TURN, Shape, check_schema, needed, of_records, schema_of
from duerow.spark.options import Options
from duerow.store import ALL_IDS, ArrowConnections, ArrowReader, Scan
from duerow.sync.database import Database
from duerow.where import Compare, Condition, as_condition, every

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

TABLES: Final = ("live", "dead", "history")

KNOWN: Final = frozenset(
    {"table", "queue", "key", "due_before", "where", "partitions", "limit", "columns", "encrypted"}
)

RANGES: Final = 16
"""Ranges of ids that each partition has: ids are not spread evenly, so each partition gets some of everywhere."""

NARROWEST: Final = 5_000
"""Ids of a range at the least: an empty range costs a query too."""

IDS: Final = 50_000
"""Ids for which a further partition is worth its while, if nothing is said."""

MOST_PARTITIONS: Final = 8
"""Partitions at the most, if nothing is said."""

FIRST_PAGE: Final = 1_000
"""Rows of the first page, as long as it is not known how large they are."""

PAGE_BYTES: Final = 16 << 20
"""About how many bytes the further pages have."""

LARGEST_PAGE: Final = 100_000
"""Rows of a page at the most that come as Arrow."""

RESTED: Final = 5.0
"""Seconds for which a connection may rest between two tasks: to connect takes longer than to read a page."""

_at_rest: Final[dict[Database, tuple[ArrowReader, float]]] = {}

PAGE_OF_VALUES: Final = 5_000
"""Rows of a page at the most that come as Python's values."""


def schema(options: Mapping[str, str]) -> StructType:
    """Return the columns of what the options ask for.

    Raises:
        ConfigurationError: the options ask for what there is not.
    """
    asked = Options(options, KNOWN | STREAM_KNOWN)
    return schema_of(TURN if asked.one_of("table", TABLES) == "history" else MESSAGE, asked.names("columns"))


STREAM_KNOWN: Final = frozenset({"lease", "batch"})
"""Options of streams: Spark asks for the columns without saying which of the two it wants."""


def query_of(options: Options) -> Scan:
    """Return what to read, as the store is asked for it.

    Raises:
        InvalidCondition: `where` cannot be read, or asks for what messages or turns do not have.
        ConfigurationError: an option cannot be what it is.
    """
    table = options.one_of("table", TABLES)
    past = table == "history"
    terms: list[Condition] = []
    if (key := options.text("key")) is not None:
        terms.append(Compare(("key",), "=", key))
    if (due_before := options.moment("due_before")) is not None:
        terms.append(Compare(("due_at",), "<", due_before))
    if (where := options.text("where")) is not None:
        terms.append(as_condition(where, "turn" if past else "message"))
    statuses = None if past else LIVE if table == "live" else ("dead",)
    return Scan(past, options.queues(), statuses, every(*terms) if terms else None)


class Reader(DataSourceReader):
    """Reads a frame; it is pickled, with the way to the queues, into every task.

    Args:
        options: as Spark has them.
        schema: the columns that Spark wants.

    Raises:
        ConfigurationError: an option is unknown or cannot be what it is; a column is not there, or of another type.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        asked = Options(options, KNOWN)
        self._query, self._reach = query_of(asked), asked.reach()
        self._types = TURN if self._query.past else MESSAGE
        check_schema(self._types, schema)
        self._schema = schema
        self._limit, self._partitions = asked.number("limit"), asked.number("partitions")
        self._as_kept = asked.one_of("encrypted", ("open", "keep")) == "keep"
        if self._limit is not None and self._partitions not in (None, 1):
            raise ConfigurationError("a limit is kept by reading in one partition: give limit or partitions, not both")

    def partitions(self) -> Sequence[InputPartition]:
        """Return ranges of ids, dealt out so that each partition has some of everywhere."""
        with self._reach.open() as database:
            ends = ends_of(database, self._query)
        if ends is None:
            return [InputPartition([])]
        return [InputPartition(ranges) for ranges in dealt(*ends, 1 if self._limit else self._partitions)]

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Read the ranges of a partition, page by page."""
        database = self._reach.database
        shape = Shape(self._schema, database.encryption, self._as_kept)
        names = needed(self._schema.names, self._query.past)
        with Pages(database) as pages:
            for first, last in partition.value:  # one alone if there is a limit
                for page in pages.read(replace(self._query, last=last), self._types, names, first, self._limit):
                    yield from shape.batches(page)


def ends_of(database: Database, query: Scan) -> tuple[int, int] | None:
    """Return the lowest and the highest id of what a scan finds; None if it finds nothing.

    A condition is left out, for which all rows might be looked at twice.
    """
    anything = replace(query, where=None, limit=1)
    lowest = database.run(lambda: database.store.scan(anything))
    highest = database.run(lambda: database.store.scan(replace(anything, descending=True)))
    return (lowest[0].id, highest[0].id) if lowest and highest else None


def dealt(first: int, last: int, partitions: int | None) -> list[list[tuple[int, int]]]:
    """Return the ids from first to last as ranges, dealt out to as many partitions, in the order of ids in each."""
    count = last - first + 1
    many = partitions or min(MOST_PARTITIONS, -(-count // IDS))
    width = max(-(-count // (many * RANGES)), min(NARROWEST, -(-count // many))) if many > 1 else count
    ranges = [(start, min(start + width - 1, last)) for start in range(first, last + 1, width)]
    return [ranges[place::many] for place in range(min(many, len(ranges)))]


class Pages:
    """Reads scans page by page, as Arrow if there is a driver for that; a context manager.

    Args:
        database: where.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._arrow: ArrowReader | None = None
        self._rows = FIRST_PAGE

    def __enter__(self) -> Self:
        connections = self._database.connections
        resting, since = _at_rest.pop(self._database, (None, 0.0))
        if resting is not None and time.monotonic() - since < RESTED:
            self._arrow = resting
            return self
        if resting is not None:
            resting.close()
        if isinstance(connections, ArrowConnections):
            self._arrow = connections.arrow_scans()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._arrow is None:
            return
        if kind is None:
            _at_rest[self._database] = self._arrow, time.monotonic()
        else:
            self._arrow.close()

    def read(
        self, query: Scan, types: dict[str, DataType], names: Sequence[str], first: int, most: int | None
    ) -> Iterator[Table]:
        """Read what a scan finds.

        Args:
            query: the scan, with its last id.
            types: the columns that there are.
            names: the columns to read, `id` and of turns `token` among them.
            first: the first id.
            most: rows at the most; None: all.
        """
        after = (first - 1, ALL_IDS)
        while most is None or most > 0:
            limit = self._rows if most is None else min(self._rows, most)
            page = self._page(replace(query, after=after, limit=limit), types, names)
            if page.num_rows:
                yield page
            if page.num_rows < limit:
                return
            after = page.column("id")[-1].as_py(), page.column("token")[-1].as_py() if query.past else ALL_IDS
            most = None if most is None else most - page.num_rows
            self._learn(page)

    def _page(self, query: Scan, types: dict[str, DataType], names: Sequence[str]) -> Table:
        if self._arrow is not None:
            return self._arrow.read(query, names)
        return of_records(self._database.run(lambda: self._database.store.scan(query)), names, types)

    def _learn(self, page: Table) -> None:
        """Read as many rows at once as fill a page."""
        largest = PAGE_OF_VALUES if self._arrow is None else LARGEST_PAGE
        fitting = PAGE_BYTES * page.num_rows // max(page.nbytes, 1)
        self._rows = max(1, min(4 * self._rows, fitting, largest))


@atexit.register
def close_at_rest() -> None:
    """Close what rests: the driver cannot when Python itself is going."""
    while _at_rest:
        _, (resting, _) = _at_rest.popitem()
        resting.close()
