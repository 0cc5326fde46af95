"""Which values fit columns: the executor that reads a message checks it, so that only that message fails."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import msgspec

from duerow.errors import CodecError, shown
from duerow.payload.types import LARGE

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


Check = Callable[[Any], str | None]
"""A function that returns where a JSON value does not fit, and why; None if it fits."""


def needs_check(schema: StructType) -> bool:
    """Return whether a payload that fits the declared type may still not fit its columns."""
    from pyspark.sql import types

    return any(isinstance(one, types.DecimalType | types.TimestampType) for one in _leaves(schema))


def has_times(of: DataType) -> bool:
    """Return whether a type has columns of dates or timestamps."""
    from pyspark.sql import types

    times = (types.DateType, types.TimestampType, types.TimestampNTZType)
    return any(isinstance(one, times) for one in _leaves(of))


def _leaves(of: Any) -> Iterator[Any]:
    from pyspark.sql import types

    match of:
        case types.StructType():
            for field in of.fields:
                yield from _leaves(field.dataType)
        case types.ArrayType():
            yield from _leaves(of.elementType)
        case types.MapType():
            yield from _leaves(of.valueType)
        case _:
            yield of


_numbers = msgspec.json.Decoder(float_hook=Decimal).decode


def check_text(check: Check, text: str) -> None:
    """Raise CodecError unless a payload's JSON text fits its columns."""
    try:
        plain = _numbers(text)
    except msgspec.DecodeError as error:
        raise CodecError(f"payload is not JSON: {error}") from error
    if (wrong := check(plain)) is not None:
        raise CodecError(f"payload{wrong}")


def checker(of: DataType, zoned: bool = False) -> Check:
    """Return a function that checks whether a JSON value fits columns of a type.

    Args:
        of: the type.
        zoned: whether timestamps without a time zone are refused; otherwise they are taken as UTC.
    """
    from pyspark.sql import types

    match of:
        case types.StructType():
            return _struct_check([(field.name, checker(field.dataType, zoned)) for field in of.fields])
        case types.ArrayType():
            return _array_check(checker(of.elementType, zoned))
        case types.MapType():
            return _map_check(checker(of.valueType, zoned))
        case types.BooleanType():
            return lambda value: None if type(value) is bool else f" is {shown(value)}, not a boolean"
        case types.ByteType() | types.ShortType() | types.IntegerType() | types.LongType():
            return _integer_check(
                {"tinyint": 8, "smallint": 16, "int": 32}.get(of.simpleString(), 64), of.simpleString()
            )
        case types.FloatType() | types.DoubleType():
            return lambda value: None if type(value) in (int, float, Decimal) else f" is {shown(value)}, not a number"
        case types.DecimalType():
            return _decimal_check(of.precision, of.scale)
        case types.TimestampType():
            return _moment_check(zoned)
        case types.TimestampNTZType():
            return lambda value: (
                None if _is_moment(value) is False else f" is {shown(value)}, not a time without a zone"
            )
        case types.DateType():
            return lambda value: None if _parses(_day, value) else f" is {shown(value)}, not a date such as 2026-03-01"
        case types.BinaryType():
            return lambda value: None if _parses(_base64, value) else f" is {shown(value)}, not base64"
    return lambda value: None  # text and variants accept anything


def _struct_check(fields: list[tuple[str, Check]]) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is not dict:
            return f" is {shown(value)}, not an object"
        for name, fits in fields:
            member = value.get(name)
            if member is not None and (wrong := fits(member)) is not None:
                return f".{name}{wrong}"
        return None

    return check


def _array_check(fits: Check) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is not list:
            return f" is {shown(value)}, not a list"
        for place, member in enumerate(value):
            if member is not None and (wrong := fits(member)) is not None:
                return f"[{place}]{wrong}"
        return None

    return check


def _map_check(fits: Check) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is not dict:
            return f" is {shown(value)}, not an object"
        for name, member in value.items():
            if member is not None and (wrong := fits(member)) is not None:
                return f"[{shown(name)}]{wrong}"
        return None

    return check


def _integer_check(bits: int, name: str) -> Check:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def check(value: Any) -> str | None:
        if type(value) is int and least <= value <= most:
            return None
        if type(value) is dict and LARGE in value:
            return f" is {value[LARGE]!s:.80}, an integer beyond 64 bits, which no column can hold"
        return f" is {shown(value)}, not of type {name}"

    return check


def _decimal_check(precision: int, scale: int) -> Check:
    def check(value: Any) -> str | None:
        if not (_DECIMAL.fullmatch(value) if type(value) is str else isinstance(value, int | Decimal)):
            return f" is {shown(value)}, not a decimal"
        try:
            _, digits, exponent = Decimal(value).normalize(_EXACT).as_tuple()
        except InvalidOperation:
            return f" is {shown(value)}, not a decimal"
        assert isinstance(exponent, int)  # noqa: S101 - or it would be none that JSON or the pattern has
        whole = len(digits) + exponent
        if type(value) is bool or -exponent > scale or (whole > precision - scale and any(digits)):
            return f" is {shown(value)}, not a decimal of {precision - scale} digits and {scale} after the point"
        return None

    return check


_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _exact() -> Any:
    from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context

    return Context(prec=min(MAX_PREC, 10_000), Emax=MAX_EMAX, Emin=MIN_EMIN)


_EXACT: Final = _exact()


def _moment_check(zoned: bool) -> Check:
    def check(value: Any) -> str | None:
        has_zone = _is_moment(value)
        if has_zone is None:
            return f" is {shown(value)}, not a timestamp"
        return " has no time zone" if zoned and not has_zone else None

    return check


def _is_moment(value: Any) -> bool | None:
    """Return whether a time has a zone; None if it is not a time."""
    try:
        return datetime.fromisoformat(value).tzinfo is not None if _MOMENT.fullmatch(value) else None
    except (TypeError, ValueError):
        return None


def _day(value: str) -> date:
    if not _DAY.fullmatch(value):
        raise ValueError(value)
    return date.fromisoformat(value)


_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""The only form of a date that Spark reads as Python does; Spark takes 20260301 as a number of days since 1970."""


_MOMENT: Final = re.compile(
    _DAY.pattern + r"([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2}(:?[0-9]{2})?)?)?)?"
)
"""The forms of a timestamp that both Python and Spark read."""


def _parses(parse: Callable[[str], Any], value: Any) -> bool:
    try:
        parse(value)
    except (TypeError, ValueError):
        return False
    return True


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
