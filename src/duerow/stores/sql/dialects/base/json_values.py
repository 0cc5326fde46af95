"""JSON in a database: the type of its columns, and the parts that a path leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement
from sqlalchemy.types import UserDefinedType

from duerow.payload.codec import UNREADABLE

encode_json = msgspec.json.Encoder().encode


def decode_json(text: str) -> Any:
    """Return the value of a JSON text; return the text itself if duerow cannot have written it.

    That is text that is nested too deep, or has numbers that no type can hold.
    """
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return text


class JsonText(UserDefinedType[str]):
    """JSON that is written and read as the codec's own text; no driver may parse it on the way."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the column's type in DDL and casts."""
        return self.name


@dataclass(frozen=True)
class Member:
    """What a path leads to in a JSON column; each expression is null for a value of another kind.

    Attributes:
        absent: true if there is nothing, or JSON null; else false.
        text: text, compared by code point.
        boolean: a boolean, as the word true or false.
        whole: an integer of 64 bits.
        real: any other number, as a finite float.
        json: the value for `Dialect.read_json`, null if there is none.
    """

    absent: ColumnElement[bool]
    text: ColumnElement[Any]
    boolean: ColumnElement[Any]
    whole: ColumnElement[Any]
    real: ColumnElement[Any]
    json: ColumnElement[Any]
