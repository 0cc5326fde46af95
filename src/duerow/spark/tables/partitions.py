"""The folders of a table to which the rows of a batch go, if the table is partitioned by the values of columns.

Folders are named as in Hive and Spark, for example `day=2026-11-26`. The files contain the columns as well, with their
types, so that programs that read a list of files do not need the names of folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from duerow.errors import ConfigurationError
from duerow.pipeline.table import TableSink

if TYPE_CHECKING:
    from pyarrow import RecordBatch

NULL: Final = "__HIVE_DEFAULT_PARTITION__"
"""The text that stands for null in the name of a folder."""

LONGEST: Final = 200
"""The longest name of a folder, in bytes; file systems allow 255."""

ESCAPED: Final = frozenset({*map(chr, range(1, 32)), *"\"#%'*/:=?\\\x7f{[]^"})
"""The characters that Spark writes as % and two digits in the name of a folder."""

Values = Mapping[str, str | None]
"""The values of the columns, as text."""


def check_partitions(station: TableSink, columns: Sequence[Any]) -> None:
    """Raise ConfigurationError unless a table with these columns can be partitioned as its station says."""
    from pyspark.sql import types

    known = {one.name: one.dataType for one in columns}
    plain = (types.StringType, types.IntegralType, types.BooleanType, types.DateType)
    for name in station.partition_by:
        if name not in known:
            raise ConfigurationError(
                f"{station}: partition_by names the column {name!r}; the table has {', '.join(map(repr, known))}"
            )
        if not isinstance(known[name], plain):
            raise ConfigurationError(
                f"{station}: partition_by names {name!r} of type {known[name].simpleString()}; "
                "a table is partitioned by text, integers, booleans or dates"
            )
    if station.partition_by and len(known) == len(station.partition_by):
        raise ConfigurationError(f"{station}: partition_by names all columns; at least one must be left for the files")


def folder_name(values: Values) -> str:
    """Return the subfolder, with its slash, for rows with these values; "" if the table is not partitioned."""
    return "".join(f"{_escaped(name)}={NULL if text is None else _escaped(text)}/" for name, text in values.items())


def divided(batch: RecordBatch, by: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], RecordBatch]]:
    """Yield the rows of a batch in groups with the same values in some columns, with those values."""
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, values in enumerate(zip(*(batch.column(name).to_pylist() for name in by), strict=True)):
        places.setdefault(values, []).append(place)
    for values, some in places.items():
        yield values, batch if len(places) == 1 else batch.take(some)


def as_texts(by: Sequence[str], values: Sequence[Any]) -> dict[str, str | None]:
    """Return the values of columns as text for the names of folders."""
    return {name: _text(value) for name, value in zip(by, values, strict=True)}


def refused(batch: RecordBatch, by: Sequence[str]) -> list[str | None]:
    """Return for each row why no folder can be named after its values; None if one can."""
    reasons: list[str | None] = [None] * batch.num_rows
    for name in by:
        for place, value in enumerate(batch.column(name).to_pylist()):
            if isinstance(value, str) and (why := _unfit(name, value)) is not None:
                reasons[place] = why
    return reasons


def _unfit(name: str, text: str) -> str | None:
    """Return why a value would be read back as a different value, or cannot be written at all."""
    if text in ("", NULL):
        return f"the column {name!r} is {text!r}, which readers of a partitioned table take for null"
    if len(folder_name({name: text}).encode()) > LONGEST:
        return f"the column {name!r} has a value that is too long for the name of a folder"
    return None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def _escaped(text: str) -> str:
    return "".join(f"%{ord(one):02X}" if one in ESCAPED else one for one in text)
