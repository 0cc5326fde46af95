"""JSON in a database: the type of its columns, and the values at a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement
from sqlalchemy.types import UserDefinedType

from duerow.payload.codec import UNREADABLE

encode_json = msgspec.json.Encoder().encode


def decode_json(text: str) -> Any:
    """Return the value of a JSON text, or the text itself if duerow cannot have written it.

    duerow never writes JSON that is nested too deep, or has numbers that no type can hold.
    """
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return text


class JsonText(UserDefinedType[str]):
    """JSON that is written and read as the codec's own text; drivers must not parse it."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the column's type in DDL and casts."""
        return self.name


@dataclass(frozen=True)
class Member:
    """The value at a path in a JSON column; each expression is null if the value is of another kind.

    Attributes:
        absent: true if there is no value, or JSON null; otherwise false.
        text: text, compared by code point.
        boolean: a boolean, as the text true or false.
        whole: a 64-bit integer.
        real: any other number, as a finite float.
        json: the value in the form that `Dialect.read_json` reads; null if there is none.
    """

    absent: ColumnElement[bool]
    text: ColumnElement[Any]
    boolean: ColumnElement[Any]
    whole: ColumnElement[Any]
    real: ColumnElement[Any]
    json: ColumnElement[Any]
