"""The stations between queues and tables: `TableSink` writes messages to a table, `TableSource` reads them from one.

There is no I/O and no Spark here: `duerow.spark.tables` does the work. Both stations rest on one idea: the queue's own
transaction decides. The transaction that ends the turns of a batch also pushes the batch for the table as a message,
and the batch is delivered under its name until the table has it. The position in a source is a message too: the
transaction that pushes rows also advances the position.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from duerow.errors import ConfigurationError, shown
from duerow.message import Message, check_span
from duerow.payload.encoding import BATCHES
from duerow.pipeline.frame import RESERVED, Frame
from duerow.pipeline.graph import Node
from duerow.pipeline.stations import SHORTEST, OneWay, Station, StationFunction, check_name
from duerow.retry import exponential
from duerow.settlement import Settlement

ROWS: Final = 1_000
"""The maximum number of rows that a source reads and pushes at once."""

EVER: Final = timedelta(days=36_500)
"""How long a source remembers which files it has read."""

SLOWEST: Final = timedelta(minutes=5)
"""The longest delay between attempts to deliver a batch."""

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "parquet": ("path",),
    "delta": ("path",),
    "iceberg": ("table",),
    "jdbc": ("url", "table"),
}
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "parquet": ("compact", "partition_by"),
    "delta": ("options", "partition_by"),
    "iceberg": ("options", "partition_by"),
    "jdbc": (),
}
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("parquet", "csv", "json"), ("path",)),
    "jdbc": ("url", "table", "column"),
}


def position_queue(source: str) -> str:
    """Return the name of the queue in which the position of a table source waits for the next run."""
    return f"{source}/position"


def unchanged(frame: Any) -> Any:
    """Return a frame unchanged: the default function of a table station."""
    return frame


@dataclass(frozen=True)
class TableSink(Frame):
    """The end of a route: each batch of messages becomes rows of a table, exactly once. It runs on Spark.

    The table has the columns of the batch's data frame. They come from the declared type or `schema`, as for `Frame`;
    `function` may change them, or aggregate the batch. Text in a column `_error` is the reason why message `_id`
    failed; columns such as `_id` and `_key` are not written to the table.

    One transaction ends the turns of a batch and pushes a message that holds or names its rows to the queue
    "<name>/batches". From there the rows are delivered under a name that the table records, and delivery is retried
    until the table has them.

    Args:
        name: see Station.
        function: changes the data frame of a batch before it is written; default: nothing is changed.
        format: "parquet", "delta", "iceberg" or "jdbc" (a table in any database that SQLAlchemy can reach).
        path: the folder of the table, for "parquet" and "delta": a path that all executors share, or a URL that PyArrow
            can open, such as "s3://bucket/sales".
        url: the database of the table, for "jdbc".
        table: the table, for "jdbc" and "iceberg", with its schema or namespace if it has one.
        options: for "delta", how to reach the storage; for "iceberg", the catalog; with the option names that those
            packages use.
        compact: for "parquet", after how many batches small files are merged into larger ones; default: never.
        partition_by: for files, the columns whose values divide the table into folders, the outermost first. They hold
            text, integers, booleans or dates. An Iceberg table must already be partitioned by them.
        schema: see Frame.
        batch: see Frame.
        lease: see Frame.
        timeout: see Frame.
        retry: see Frame. It does not limit the delivery of a batch, which is retried until the table has it.
        payload: see Station.
        upgrades: see Station.
        rate: see Station.
        history: see Station.
        remember_keys: see Station.

    Raises:
        ConfigurationError: as for Frame; or the format is unknown, an argument that it needs is missing, or an argument
            does not apply to it.
    """

    function: StationFunction = unchanged
    to: Any = field(init=False, default=())
    _: KW_ONLY
    rowwise: bool = field(init=False, default=False)
    format: str
    path: str | Path | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    compact: int | None = None
    partition_by: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(f"the queue of the batches of {self}", self.batches)
        if self.format not in _NEEDED:
            raise ConfigurationError(f"{self}: format must be one of {', '.join(_NEEDED)}, not {shown(self.format)}")
        _check_given(self, _NEEDED, _ALSO[self.format])
        if self.compact is not None and (type(self.compact) is not int or self.compact < 2):
            raise ConfigurationError(
                f"{self}: compact must be a number of batches, at least 2, not {shown(self.compact)}"
            )
        object.__setattr__(self, "path", absolute(self.path))
        object.__setattr__(self, "options", dict(self.options))
        object.__setattr__(self, "partition_by", _checked_partitions(self))

    def __str__(self) -> str:
        return f"table {self.name!r}"

    def _read_to(self) -> Mapping[str, str]:
        return {}

    @property
    def ways(self) -> Mapping[str, str]:
        """Empty: the route ends here."""
        return {}

    @property
    def batches(self) -> str:
        """The queue of the batches that the table does not yet have."""
        return f"{self.name}{BATCHES}"

    @property
    def consumers(self) -> Sequence[Station]:
        """The consumer that makes batches of messages, and the one that writes them to the table."""
        return (
            self,
            Delivery(self.batches, unchanged, retry=exponential(maximum=SLOWEST), lease=self.lease, sink=self),
        )

    def node(self) -> Node:
        """Return the station as it appears in a drawing."""
        into = " ".join(str(one) for one in (self.format, self.table or without_user(self.path or "")) if one)
        into += f" by {' and '.join(self.partition_by)}" if self.partition_by else ""
        return msgspec.structs.replace(super().node(), kind="table", note=f"{into}, batches of {self.batch}")


@dataclass(frozen=True)
class Delivery(Station):
    """Writes batches, each of which is a message, to the table of a sink; it is not a separate station."""

    _: KW_ONLY
    sink: TableSink

    def __str__(self) -> str:
        return str(self.sink)

    @property
    def ways(self) -> Mapping[str, str]:
        """Empty: the route ends here."""
        return {}

    def without_function(self) -> TableSink:
        """Return the sink without its function, which a delivery does not call."""
        return replace(self.sink, function=unchanged)

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("batches are delivered on Spark")


@dataclass(frozen=True)
class TableSource(OneWay):
    """The start of a route: each row of a table or a folder's files becomes a message, exactly once. It runs on Spark.

    Each file is read once, whenever it appears in the folder. A table is read in the order of a column whose values
    only increase. The station's own queue holds what remains to be read, as messages: a file with the number of rows
    already pushed, or the last value of the column. One transaction pushes the messages for some rows and advances the
    position.

    Args:
        name: the name of the station and of that queue.
        to: the queue to which the rows go; the payload of a message is an object with the row's columns.
        format: "parquet", "csv" or "json" (a JSON object on each line) for files; "jdbc" for a table in any database
            that SQLAlchemy can reach.
        path: the folder of the files, or a URL that PyArrow can open; all folders in it are included. Files and folders
            whose names begin with "." or "_" are skipped.
        url: the database of the table.
        table: the table, with its schema if it has one.
        column: the column in whose order a table is read; its values must be unique, never null, and higher in each row
            that is committed later.
        key: the column that holds the key of a row's message; default: messages have no key.
        every: how often a run looks for new rows; default: once, when it begins.
        rows: the maximum number of rows that are read and pushed at once.
        retry: see Station; it applies to reading. A position that has failed for good stays as a dead message, and
            reading continues when it is requeued.
        lease: see Station.
        timeout: see Station.
        rate: see Station; it counts portions of at most `rows` rows.
        history: see Station.

    Raises:
        ConfigurationError: as for Station; or the format is unknown, an argument that it needs is missing, or an
            argument does not apply to it.
    """

    needs_spark: ClassVar[bool] = True
    function: StationFunction = field(init=False, default_factory=lambda: unchanged)
    to: str
    _: KW_ONLY
    format: str
    path: str | Path | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    table: str | None = None
    column: str | None = None
    key: str | None = None
    every: timedelta | None = None
    rows: int = ROWS
    payload: None = field(init=False, default=None)
    upgrades: None = field(init=False, default=None)
    remember_keys: timedelta | None = field(init=False, default=EVER)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(f"the queue of the position of {self}", position_queue(self.name))
        if self.format not in _READ:
            raise ConfigurationError(f"{self}: format must be one of {', '.join(_READ)}, not {shown(self.format)}")
        _check_given(self, _READ, ())
        if type(self.rows) is not int or self.rows < 1:
            raise ConfigurationError(f"{self}: rows must be an integer of at least 1, not {shown(self.rows)}")
        if self.every is not None:
            check_span(f"every of {self}", self.every, SHORTEST)
        object.__setattr__(self, "path", absolute(self.path))

    def __str__(self) -> str:
        return f"source {self.name!r}"

    def node(self) -> Node:
        """Return the station as it appears in a drawing."""
        return msgspec.structs.replace(
            super().node(),
            kind="source",
            note=f"{self.format} {self.table or without_user(self.path or '')}, {self.rows} rows at once",
        )

    def _end(self, message: Message, returned: Any) -> Settlement:
        raise AssertionError("rows are read on Spark")


def _check_given(station: Station, needed: Mapping[str, tuple[str, ...]], also: tuple[str, ...]) -> None:
    """Raise ConfigurationError unless a station has exactly the arguments that its format takes."""
    of: str = station.format  # type: ignore[attr-defined]  # both kinds have one
    given = {one.name for one in fields(station) if one.name in _TAKEN and getattr(station, one.name)}
    if missing := [name for name in needed[of] if name not in given]:
        raise ConfigurationError(f"{station}: format={of!r} needs {' and '.join(f'{name}=' for name in missing)}")
    if odd := sorted(given.difference(needed[of], also)):
        raise ConfigurationError(f"{station}: format={of!r} has no use for {' and '.join(f'{name}=' for name in odd)}")


_TAKEN: Final = frozenset({"path", "url", "table", "column", "options", "compact", "partition_by"})


def _checked_partitions(sink: TableSink) -> tuple[str, ...]:
    given: object = sink.partition_by
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise ConfigurationError(
            f"{sink}: partition_by must be a list of columns, such as partition_by=['day'], not {shown(given)}"
        )
    if twice := sorted({name for name in given if given.count(name) > 1}):
        raise ConfigurationError(f"{sink}: partition_by names {shown(twice[0])} twice")
    if hidden := sorted(RESERVED.intersection(given)):
        raise ConfigurationError(f"{sink}: partition_by names {shown(hidden[0])}, which is not written to the table")
    return tuple(given)


def without_user(path: str | Path) -> str:
    """Return a path or URL without the user, the password and the options in it, which may be secrets, too."""
    shown = re.sub(r"^([^:/]+://)[^@]*@", r"\1***@", str(path))
    return shown.partition("?")[0] if "://" in shown else shown


def check_compaction(stations: Sequence[Station]) -> None:
    """Raise ConfigurationError if two stations would merge files of the same table."""
    merging: dict[str, TableSink] = {}
    for station in stations:
        if isinstance(station, TableSink) and station.compact is not None:
            other, path = merging.setdefault(str(station.path), station), without_user(str(station.path))
            if other is not station:
                raise ConfigurationError(
                    f"{other} and {station} would both merge files in {path}; pass compact= to only one of them"
                )


def absolute(path: str | Path | None) -> str | None:
    """Return a path that means the same in every process."""
    if path is None or "://" in str(path):
        return None if path is None else str(path).rstrip("/")
    return str(Path(path).absolute())


def as_delivered(delivery: Delivery) -> dict[str, Any]:
    """Return the arguments of a delivery, for a subclass that carries out the delivery."""
    given = {one.name: getattr(delivery, one.name) for one in fields(delivery) if one.init}
    return {**given, "sink": delivery.without_function()}
