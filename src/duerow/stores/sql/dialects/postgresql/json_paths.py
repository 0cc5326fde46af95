"""The value at a path in a JSON column, and its form in an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    Numeric,
    Text,
    and_,
    case,
    cast,
    collate,
    false,
    func,
    literal,
    literal_column,
    null,
)

from duerow.store import IndexKind
from duerow.stores.sql.dialects.base import LONGEST_KEY, JsonText, Member, const
from duerow.stores.sql.dialects.base.payload_indexes import PayloadIndexes

_PLACE = re.compile(r"\s*[-+]?[0-9].*", re.DOTALL)
"""Names that could be mistaken for the index of a list element."""

_INTEGER = "^-?[0-9]{1,19}$"
_LEAST_INTEGER, _MOST_INTEGER = "-9223372036854775808", "9223372036854775807"
_PLAIN = "^(-?[0-9]{1,15}([.][0-9]{1,15})?)$"
"""Numbers in JSON text, without an exponent, that every float type can hold."""

_MODEST = "^[^eE]+([eE][-+]?[0-9]{1,3})?$"
_LONGEST = 400
"""Numbers in JSON text that NUMERIC can hold: with a small exponent and not too many digits."""

_MOST, _LEAST = "1.7976931348623157e308", "4.9406564584124654e-324"
"""The largest finite float, and the smallest above zero."""


class PostgresJson(PayloadIndexes):
    """The value at a path in a JSON column, and its form in an index."""

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Follow the path with `->`, which only takes names, and cast only values that were checked first.

        A number is first read as NUMERIC, which can hold everything `_MODEST` accepts, to see whether it fits a float.
        """
        value = _led_to(document, names)
        kind = func.json_typeof(value)
        word = _word(value)
        is_number = kind == const("number")
        within = cast(word, Numeric).between(literal_column(_LEAST_INTEGER), literal_column(_MOST_INTEGER))
        is_whole = case((and_(is_number, word.op("~", is_comparison=True)(const(_INTEGER))), within), else_=false())
        return Member(
            absent=func.coalesce(kind, const("null")) == const("null"),
            text=collate(case((kind == const("string"), word)), self.bytewise),
            boolean=collate(case((kind == const("boolean"), word)), self.bytewise),
            whole=case((is_whole, cast(word, Numeric))),
            real=case((is_whole, null()), (and_(is_number, _is_modest(word)), _float(word))),
            json=cast(value, Text),
        )

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Follow the path as `member` does; a number is stored as the nearest float.

        Each pass reads the whole document, and each claim adds an index entry. For plain numbers one pass is enough,
        because strings have quotes in JSON text.
        """
        value = document
        for name in names:
            value = value.op("->")(cast(const(name), Text))
        type_, word = func.json_typeof(value), _word(value)
        match kind:
            case "text":
                return collate(case((type_ == const("string"), func.left(word, const(LONGEST_KEY)))), self.bytewise)
            case "boolean":
                return collate(case((type_ == const("boolean"), word)), self.bytewise)
        plain = func.substring(cast(value, Text), const(_PLAIN), type_=Text())
        odd = case((and_(type_ == const("number"), _is_modest(word)), _float(word)))
        return func.coalesce(cast(plain, Double), odd, type_=Double())


def _word(value: ColumnElement[Any]) -> ColumnElement[str]:
    """Return a JSON value as text; a string is returned without its quotes."""
    return value.op("#>>", return_type=Text())(literal_column("CAST('{}' AS TEXT[])"))


def _led_to(document: ColumnElement[Any], names: Sequence[str]) -> ColumnElement[Any]:
    """Return the value at a path in one pass over the text; `->` needs a pass for each name.

    A single pass would mistake a name that consists of digits for a list index.
    """
    words = [cast(literal(name, Text()), Text) for name in names]
    if len(names) > 1 and not any(_PLACE.fullmatch(name) for name in names):
        return func.json_extract_path(document, *words, type_=JsonText("JSON"))
    for word in words:
        document = document.op("->")(word)
    return document


def _is_modest(word: ColumnElement[str]) -> ColumnElement[bool]:
    """Return whether NUMERIC can hold a number."""
    return and_(func.length(word) <= const(_LONGEST), word.op("~", is_comparison=True)(const(_MODEST)))


def _float(word: ColumnElement[str]) -> ColumnElement[Any]:
    """Return a number that `_MODEST` accepts as a float: null beyond the largest float, zero below the smallest."""
    size = func.abs(cast(word, Numeric))
    return case(
        (size > cast(literal_column(_MOST), Numeric), null()),
        (size < cast(literal_column(_LEAST), Numeric), cast(const(0), Double)),
        else_=cast(word, Double),
    )
