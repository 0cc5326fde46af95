"""What a path leads to in a JSON column, and what an index holds of it."""

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
"""Names that could be read as the index of a list element."""

_INTEGER = "^-?[0-9]{1,19}$"
_LEAST_INTEGER, _MOST_INTEGER = "-9223372036854775808", "9223372036854775807"
_PLAIN = "^(-?[0-9]{1,15}([.][0-9]{1,15})?)$"
"""Numbers as JSON text that every float type can hold; without an exponent."""

_MODEST = "^[^eE]+([eE][-+]?[0-9]{1,3})?$"
_LONGEST = 400
"""Numbers as JSON text that NUMERIC can hold: with a small exponent and not too many digits."""

_MOST, _LEAST = "1.7976931348623157e308", "4.9406564584124654e-324"
"""The largest finite float, and the smallest above zero."""


class PostgresJson(PayloadIndexes):
    """What a path leads to in a JSON column, and what an index holds of it."""

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Follow the path with `->`, which takes only names, and cast only what was checked to be castable.

        A number is first read as NUMERIC, which can hold everything that `_MODEST` accepts, to see if it fits a float.
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

        Each pass reads the whole document, and each claim adds an entry: for plain numbers one pass is enough, since
        strings have quotes in JSON text.
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
    """Return a JSON value as text, a string without its quotes."""
    return value.op("#>>", return_type=Text())(literal_column("CAST('{}' AS TEXT[])"))


def _led_to(document: ColumnElement[Any], names: Sequence[str]) -> ColumnElement[Any]:
    """Return what a path leads to, in one pass over the text, where `->` needs a pass for each name.

    A single pass would take a name of digits for an index in a list.
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
    """Return a number of `_MODEST` form as a float; null beyond the largest, zero below the smallest."""
    size = func.abs(cast(word, Numeric))
    return case(
        (size > cast(literal_column(_MOST), Numeric), null()),
        (size < cast(literal_column(_LEAST), Numeric), cast(const(0), Double)),
        else_=cast(word, Double),
    )
