"""A fast check that a payload fits its columns, as most do, with a decoder that keeps nothing of what it reads.

Payloads that do not pass are checked closely by `value_checks.check_text`, which says what is wrong, if anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def glance(of: DataType) -> Callable[[str], bool]:
    """Return a function that says whether a JSON text certainly fits a type's columns; if False, it may still fit."""
    wanted = _type(of)
    if wanted is None:
        return lambda text: False
    read = msgspec.json.Decoder(wanted).decode

    def fits(text: str) -> bool:
        try:
            read(text)
        except msgspec.DecodeError:
            return False
        return True

    return fits


def _type(of: Any) -> Any:
    """Return a msgspec type that accepts only values that fit the columns of a type; None if there is none."""
    from pyspark.sql import types

    match of:
        case types.StructType():
            return _struct(of)
        case types.ArrayType():
            return None if (item := _member(of.elementType)) is None else list[item]  # type: ignore[valid-type]
        case types.MapType():
            return None if (item := _member(of.valueType)) is None else dict[str, item]  # type: ignore[valid-type]
        case types.BooleanType():
            return bool
        case types.ByteType() | types.ShortType() | types.IntegerType() | types.LongType():
            most = 1 << (BITS[of.simpleString()] - 1)
            return Annotated[int, Meta(ge=-most, le=most - 1)]
        case types.FloatType() | types.DoubleType():
            return float
        case types.StringType():
            return Raw  # a text column accepts anything
    return None


def _struct(of: Any) -> Any:
    fields = []
    for place, field in enumerate(of.fields):
        member = _member(field.dataType)
        if member is None:
            return None
        there = member if member is Raw else member | UnsetType
        fields.append((f"f{place}", there, msgspec.field(default=b"" if member is Raw else UNSET, name=field.name)))
    return msgspec.defstruct("Glance", fields, gc=False)


def _member(of: Any) -> Any:
    """Return the type of a nested value, which may be null."""
    found = _type(of)
    return found if found is None or found is Raw else found | None
