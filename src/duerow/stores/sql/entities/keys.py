"""The primary key of a user's table, with any type and number of columns: the `id` of its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Column, Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from duerow.errors import ConfigurationError, InvalidMessage, shown
from duerow.stores.sql.dialects.base import KEYS

Way = Callable[[Any], Any] | None
"""Converts a value; None: the value is unchanged."""


@dataclass(frozen=True)
class Key:
    """One column of a primary key.

    Attributes:
        name: its name in the database.
        kind: its type.
    """

    name: str
    kind: TypeEngine[Any]

    @property
    def is_integer(self) -> bool:
        """Whether the column's values are plain integers, which need no conversion."""
        return not isinstance(self.kind, TypeDecorator) and self.kind.python_type is int

    def is_of(self, kinds: tuple[type, ...]) -> bool:
        """Return whether its values have one of these Python types, or are converted to one by the user's own type."""
        kind = self.kind
        while isinstance(kind, TypeDecorator):
            kind = kind.impl_instance
        try:
            python = kind.python_type
        except NotImplementedError:
            return False
        return issubclass(python, kinds) and python is not bool

    def takes(self, value: object) -> bool:
        """Return whether the column can hold a value; a user's own type accepts anything but None and tuples."""
        if isinstance(self.kind, TypeDecorator):
            return value is not None and not isinstance(value, tuple)
        return isinstance(value, self.kind.python_type) and not isinstance(value, bool)


def keys_of(what: str, columns: Iterable[Column[Any]]) -> tuple[Key, ...]:
    """Return the columns of a primary key; `what` names the key's owner in errors.

    Raises:
        ConfigurationError: a column's type has no order, or is not supported by every driver.
    """
    keys = tuple(Key(column.name, column.type) for column in columns)
    for key in keys:
        if not key.is_of(KEYS):
            raise ConfigurationError(
                f"{what}: the column {key.name} of the primary key is {shown(key.kind)}; the columns of a primary key "
                "can be integers, text, UUIDs, dates or moments"
            )
    return keys


class Identity:
    """Writes and reads primary keys on one database.

    The id is the value of a single column, or a tuple for several columns. In statements, a single column is called
    `id`; several are called `id_1`, `id_2` and so on, so that none is mistaken for the whole id.

    Args:
        keys: the columns.
        dialect: the driver's SQLAlchemy dialect.

    Attributes:
        names: the names of the columns in statements.
        is_plain: whether an id is one integer, like a message's id.
    """

    def __init__(self, keys: Sequence[Key], dialect: Dialect) -> None:
        self.keys = keys
        self.names = ("id",) if len(keys) == 1 else tuple(f"id_{place}" for place in range(1, len(keys) + 1))
        self.is_plain = len(keys) == 1 and keys[0].is_integer
        self._dialect = dialect

    @cached_property
    def _kinds(self) -> list[TypeEngine[Any]]:
        """The types on this database; only read once connected, because SQLAlchemy cannot recognize MariaDB before."""
        return [key.kind.dialect_impl(self._dialect) for key in self.keys]

    @cached_property
    def _write(self) -> list[Way]:
        return [_written_as_text(kind.bind_processor(self._dialect)) for kind in self._kinds]

    @cached_property
    def _read(self) -> list[Way]:
        return [kind.result_processor(self._dialect, None) for kind in self._kinds]

    @property
    def kinds(self) -> dict[str, TypeEngine[Any]]:
        """The columns' types, by their names in statements."""
        if self.is_plain:
            return {"id": BigInteger()}
        return dict(zip(self.names, (key.kind for key in self.keys), strict=True))

    def written(self, values: Mapping[str, Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
        """Return the columns of bound rows, with the key's columns in place of `id`."""
        if self.is_plain or "id" not in values:
            return values
        ids = values["id"]
        parts = [ids] if len(self.keys) == 1 else zip(*ids, strict=True)
        columns = [list(part if way is None else map(way, part)) for way, part in zip(self._write, parts, strict=True)]
        return {**dict(zip(self.names, columns, strict=True)), **{k: v for k, v in values.items() if k != "id"}}

    def read(self, rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Convert rows that start with the key's columns to rows that start with the id."""
        if self.is_plain:
            return rows
        number = len(self.keys)
        return [(self._id(row[:number]), *row[number:]) for row in rows]

    def _id(self, parts: Sequence[Any]) -> Any:
        values = tuple(value if way is None else way(value) for way, value in zip(self._read, parts, strict=True))
        return values if len(values) > 1 else values[0]


def _written_as_text(way: Way) -> Way:
    """Return a conversion that also turns UUIDs into text, which works with drivers that do not support UUIDs."""

    def write(value: Any) -> Any:
        told = value if way is None else way(value)
        return str(told) if isinstance(told, UUID) else told

    return write


def parts_of(keys: Sequence[Key], id: Any) -> tuple[Any, ...]:
    """Return the values of an id, one per column.

    Raises:
        InvalidMessage: this is not an id for this key.
    """
    if len(keys) == 1:
        wrong = not keys[0].takes(id)
        parts: tuple[Any, ...] = (id,)
    else:
        wrong = not isinstance(id, tuple) or len(id) != len(keys) or not all(map(Key.takes, keys, id))
        parts = () if wrong else id
    if wrong:
        shape = ", ".join(key.name for key in keys)
        raise InvalidMessage(
            f"{shown(id)} is not a primary key here; it must be {shape if len(keys) == 1 else f'({shape})'}"
        )
    return parts
