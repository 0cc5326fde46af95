"""Look at messages, and at turns that are over, as a frame: parallel by id range, in Arrow's format, taking nothing.

Read by the store's general `scan`, page by page, so that no task holds more than a few mebibytes and no transaction
stays open. Where the database has a driver that gives Arrow (for PostgreSQL: adbc-driver-postgresql), rows do not
become Python values on the way.
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
"""Ranges of ids that each partition has: ids are not spread evenly, so each partition gets some of everywhere."""

NARROWEST: Final = 5_000
"""Ids of a range at the least: an empty range costs a query too."""

IDS: Final = 50_000
"""Ids for which a further partition is worth its while, if nothing is said."""

MOST_PARTITIONS: Final = 8
"""Partitions at the most, if nothing is said."""


def schema(options: Mapping[str, str]) -> StructType:
    """Return the columns of what the options ask for.

    Raises:
        ConfigurationError: the options ask for what there is not.
    """
    asked = SourceOptions(options, KNOWN | STREAM_KNOWN)
    keep_what_is_imported()
    return schema_of(TURN if asked.one_of("table", TABLES) == "history" else MESSAGE, asked.names("columns"))


STREAM_KNOWN: Final = frozenset({"lease", "batch"})
"""Options of streams: Spark asks for the columns without saying which of the two it wants."""


def query_of(options: SourceOptions) -> Scan:
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


@dataclass(frozen=True)
class SourcePart(InputPartition):
    """What a task reads.

    Attributes:
        pages: the scan.
        ranges: the first and the last id of each range; one alone if there is a limit.
    """

    pages: Pages
    ranges: list[tuple[int, int]]


class SourceReader(DataSourceReader):
    """Reads a frame; it is pickled, with the way to the queues, into every task.

    Args:
        options: as Spark has them.
        schema: the columns that Spark wants.

    Raises:
        ConfigurationError: an option is unknown or cannot be what it is; a column is not there, or of another type.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        asked = SourceOptions(options, KNOWN)
        self._query, self._reach = query_of(asked), asked.reach()
        check_schema(TURN if self._query.past else MESSAGE, schema)
        self._schema = schema
        self._limit, self._partitions = asked.number("limit"), asked.number("partitions")
        self._as_kept = asked.one_of("encrypted", ("open", "keep")) == "keep"
        if self._limit is not None and self._partitions not in (None, 1):
            raise ConfigurationError("a limit is kept by reading in one partition: give limit or partitions, not both")

    def partitions(self) -> Sequence[InputPartition]:
        """Return ranges of ids, dealt out so that each partition has some of everywhere."""
        with self._reach.planning() as database:
            ends = ends_of(database, self._query)
            pages = pages_of(self._reach, database, self._query, needed(self._schema.names, self._query.past))
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
