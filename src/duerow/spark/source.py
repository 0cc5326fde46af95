"""Read messages, or finished turns, as a frame: in parallel by ranges of ids, as Arrow, without reservations.

The store's `scan` reads page by page, so no task holds more than a few MiB and no transaction stays open. If a driver
that returns Arrow is installed (for PostgreSQL: adbc-driver-postgresql), rows never become Python values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from msgspec.structs import replace
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from duerow.conditions.model import Compare, Condition, every
from duerow.errors import ConfigurationError
from duerow.message import LIVE
from duerow.spark.columns import MESSAGE, TURN, Shape, check_schema, needed, schema_of
from duerow.spark.gc_freeze import keep_what_is_imported
from duerow.spark.options import SourceOptions
from duerow.spark.pages import Pages, pages_of
from duerow.store import Scan
from duerow.where import as_condition

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from duerow.sync.database import Database

TABLES: Final = ("live", "dead", "history")

KNOWN: Final = frozenset(
    {"table", "queue", "key", "due_before", "where", "partitions", "limit", "columns", "encrypted"}
)

RANGES: Final = 16
"""The ranges of ids per partition: ids are not spread evenly, so each partition gets ranges from all parts."""

NARROWEST: Final = 5_000
"""The fewest ids in a range: even an empty range costs a query."""

IDS: Final = 50_000
"""How many ids justify another partition, by default."""

MOST_PARTITIONS: Final = 8
"""The most partitions, by default."""


def schema(options: Mapping[str, str]) -> StructType:
    """Return the columns for which the options ask.

    Raises:
        ConfigurationError: the options are invalid.
    """
    asked = SourceOptions(options, KNOWN | STREAM_KNOWN)
    keep_what_is_imported()
    return schema_of(TURN if asked.one_of("table", TABLES) == "history" else MESSAGE, asked.names("columns"))


STREAM_KNOWN: Final = frozenset({"lease", "batch"})
"""The options of streams: Spark asks for the columns without saying whether it reads a stream."""


def query_of(options: SourceOptions) -> Scan:
    """Return the scan for the store.

    Raises:
        InvalidCondition: `where` cannot be read, or names a field that messages or turns do not have.
        ConfigurationError: an option is invalid.
    """
    table = options.one_of("table", TABLES)
    turns = table == "history"
    terms: list[Condition] = []
    if (key := options.text("key")) is not None:
        terms.append(Compare(("key",), "=", key))
    if (due_before := options.moment("due_before")) is not None:
        terms.append(Compare(("due_at",), "<", due_before))
    if (where := options.text("where")) is not None:
        terms.append(as_condition(where, "turn" if turns else "message"))
    statuses = None if turns else LIVE if table == "live" else ("dead",)
    return Scan(turns, options.queues(), statuses, every(*terms) if terms else None)


@dataclass(frozen=True)
class SourcePart(InputPartition):
    """A task's part of a scan.

    Attributes:
        pages: the scan.
        ranges: the first and last id of each range; only one range if there is a limit.
    """

    pages: Pages
    ranges: list[tuple[int, int]]


class SourceReader(DataSourceReader):
    """Reads a frame; it is pickled into every task, with the address of the database.

    Args:
        options: the options as Spark passes them.
        schema: the columns that Spark wants.

    Raises:
        ConfigurationError: an option is unknown or invalid; a column does not exist or has another type.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        asked = SourceOptions(options, KNOWN)
        self._query, self._reach = query_of(asked), asked.reach()
        check_schema(TURN if self._query.turns else MESSAGE, schema)
        self._schema = schema
        self._limit, self._partitions = asked.number("limit"), asked.number("partitions")
        self._as_kept = asked.one_of("encrypted", ("open", "keep")) == "keep"
        if self._limit is not None and self._partitions not in (None, 1):
            raise ConfigurationError("a limit needs a single partition: give limit or partitions, not both")

    def partitions(self) -> Sequence[InputPartition]:
        """Return the partitions, each with ranges from all parts of the ids."""
        with self._reach.planning() as database:
            ends = ends_of(database, self._query)
            pages = pages_of(self._reach, database, self._query, needed(self._schema.names, self._query.turns))
        keep_what_is_imported()
        hands = [[]] if ends is None else dealt(*ends, 1 if self._limit else self._partitions)
        return [SourcePart(pages, ranges) for ranges in hands]

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Read the ranges of a partition, page by page."""
        part, shape = cast(SourcePart, partition), Shape(self._schema, self._reach.sealing, self._as_kept)
        for page in part.pages.read(part.ranges, self._limit):
            yield from shape.batches(page)
        keep_what_is_imported()


def ends_of(database: Database, query: Scan) -> tuple[int, int] | None:
    """Return the lowest and highest id that a scan can find; None if there is nothing.

    The condition is ignored, because it might make the database read all rows twice.
    """
    anything = replace(query, where=None, limit=1)
    lowest = database.run(lambda: database.store.bulk.scan(anything))
    highest = database.run(lambda: database.store.bulk.scan(replace(anything, descending=True)))
    return (lowest[0].id, highest[0].id) if lowest and highest else None


def dealt(first: int, last: int, partitions: int | None) -> list[list[tuple[int, int]]]:
    """Return the ids from first to last as ranges, distributed over this many partitions, ascending in each."""
    count = last - first + 1
    many = partitions or min(MOST_PARTITIONS, -(-count // IDS))
    width = max(-(-count // (many * RANGES)), min(NARROWEST, -(-count // many))) if many > 1 else count
    ranges = [(start, min(start + width - 1, last)) for start in range(first, last + 1, width)]
    return [ranges[place::many] for place in range(min(many, len(ranges)))]
