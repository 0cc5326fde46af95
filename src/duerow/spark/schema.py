"""Payloads as the columns of a data frame, and columns as payloads again, so that duerow reads what it wrote.

A declared type has a schema (`schema_of`); JSON text becomes columns by Spark's `from_json` (`with_columns`), and
columns become JSON text by `to_json` (`payload_text`). What a column cannot hold is found before (`checker`), by the
executor that reads the message, so that it fails alone: a decimal that is too large, text where there is a number.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import inspect

from duerow.errors import CodecError, ConfigurationError
from duerow.payload.types import LARGE, Declared
from duerow.pipeline import Frame
from duerow.pipeline.frame import RESERVED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

DIGITS: Final = 38
SCALE: Final = 18
"""A declared Decimal becomes a column of so many digits, so many of them behind the point."""

PAYLOAD: Final = "payload"
"""The column that holds a payload as a whole."""

HOPS_COLUMN: Final = "_hops"
"""How many queues the messages of a batch have gone through at most; added where that has to be known."""

_READ: Final = {"mode": "FAILFAST", "timeZone": "UTC"}
_WRITE: Final = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "dateFormat": "yyyy-MM-dd",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}

Check = Callable[[Any], str | None]
"""Says where a JSON value does not fit, and why; None if it fits."""


# Declared types as schemas.


def schema_of(of: Any) -> StructType:
    """Return the columns of a declared type: a dataclass, Struct, TypedDict or pydantic model.

    Decimals are decimal(38, 18), aware datetimes timestamps, naive ones timestamp_ntz, bytes binary; UUIDs, times,
    spans and enums are what JSON has for them. A column's metadata says in `required` whether a payload must have it.

    Raises:
        ConfigurationError: a field has no type that a column can have; the message says which.
    """
    Declared(of)  # refuses what cannot be declared at all
    found: StructType = _Types(of.__name__).of_class(of, of.__name__)
    _check_names([field.name for field in found.fields], of.__name__)
    return found


def frame_schema(station: Frame) -> StructType | None:
    """Return the columns of a frame station's payloads; None: their text is one column.

    Raises:
        ConfigurationError: the schema cannot be read, or has a column that frames have themselves.
    """
    schema = _given_schema(station)
    if schema is not None and schema.names == [PAYLOAD]:
        raise ConfigurationError(
            f"{station}: the only field of its payloads is called {PAYLOAD!r}, and a column of that name that stands "
            "alone is the payload itself; leave payload= and schema= out, and read the JSON text"
        )
    return schema


def _given_schema(station: Frame) -> StructType | None:
    if station.schema is None:
        return None if station.payload is None else schema_of(station.payload)
    from pyspark.sql.types import StructType

    schema = station.schema
    if isinstance(schema, str):
        try:
            schema = StructType.fromDDL(schema)
        except Exception as error:  # Spark's parser raises many kinds
            raise ConfigurationError(f"{station}: schema {station.schema!r:.200} cannot be read: {error}") from error
    if not isinstance(schema, StructType) or not schema.fields:
        raise ConfigurationError(f"{station}: schema is {schema!r:.80}; give a StructType of Spark's with its columns")
    _check_names([field.name for field in schema.fields], str(station))
    return schema


def _check_names(names: list[str], of: str) -> None:
    known: dict[str, str] = {}
    for name in names:
        if name.lower() in RESERVED or name.lower() == HOPS_COLUMN:
            raise ConfigurationError(f"{of}: a field is called {name!r}, as a column that frames have themselves")
        if known.setdefault(name.lower(), name) != name:
            raise ConfigurationError(f"{of}: {known[name.lower()]!r} and {name!r} are one column to Spark")


class _Types:
    """Finds columns for the types of one declared type."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._within: list[type] = []

    def of_class(self, of: Any, path: str, pydantic: bool = False) -> Any:
        """Return the columns of a class with fields."""
        if of in self._within:
            raise self._refused(path, f"{of.__name__} holds itself, and a column has an end")
        self._within.append(of)
        fields = _pydantic_fields(of) if hasattr(of, "__pydantic_fields__") else _fields(of)
        struct = self._struct(fields, path, pydantic or hasattr(of, "__pydantic_fields__"))
        self._within.pop()
        return struct

    def _struct(self, fields: Iterator[tuple[str, Any, bool]], path: str, pydantic: bool) -> Any:
        from pyspark.sql.types import StructField, StructType

        found = []
        for name, info, required in fields:
            of, nullable = self._column(info, f"{path}.{name}", pydantic)
            found.append(StructField(name, of, nullable, {"required": required}))
        if not found:
            raise self._refused(path, "it has no fields")
        return StructType(found)

    def _column(self, info: Any, path: str, pydantic: bool) -> tuple[Any, bool]:
        """Return the type of a column, and whether null is among its values."""
        if isinstance(info, inspect.Metadata):
            return self._column(info.type, path, pydantic)
        if not isinstance(info, inspect.UnionType):
            return self._one(info, path, pydantic), False
        others = [one for one in info.types if not isinstance(one, inspect.NoneType)]
        if {type(one) for one in others} == {inspect.IntType, inspect.FloatType}:
            others = [one for one in others if isinstance(one, inspect.FloatType)]
        if len(others) != 1:
            raise self._refused(path, "it may be of several types")
        return self._one(others[0], path, pydantic), info.includes_none

    def _one(self, info: Any, path: str, pydantic: bool) -> Any:
        from pyspark.sql import types

        simple: dict[type, Any] = {
            inspect.BoolType: types.BooleanType(),
            inspect.IntType: types.LongType(),
            inspect.FloatType: types.DoubleType(),
            inspect.StrType: types.StringType(),
            inspect.BytesType: types.StringType() if pydantic else types.BinaryType(),
            inspect.DateType: types.DateType(),
            inspect.TimeType: types.StringType(),
            inspect.TimeDeltaType: types.StringType(),
            inspect.UUIDType: types.StringType(),
            inspect.DecimalType: types.DecimalType(DIGITS, SCALE),
        }
        if type(info) in simple:
            return simple[type(info)]
        match info:
            case inspect.DateTimeType():
                return types.TimestampNTZType() if info.tz is False else types.TimestampType()
            case inspect.EnumType():
                return self._values([member.value for member in info.cls], path)
            case inspect.LiteralType():
                return self._values(list(info.values), path)
            case inspect.ListType() | inspect.SetType() | inspect.FrozenSetType() | inspect.VarTupleType():
                return types.ArrayType(self._column(info.item_type, f"{path}[]", pydantic)[0])
            case inspect.DictType():
                return types.MapType(types.StringType(), self._column(info.value_type, f"{path}[…]", pydantic)[0])
            case inspect.StructType() if info.array_like:
                raise self._refused(path, "it travels as a list, not as an object")
            case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType() | inspect.CustomType():
                if isinstance(info, inspect.CustomType) and not hasattr(info.cls, "__pydantic_fields__"):
                    raise self._refused(path, f"{info.cls.__name__} is nothing that JSON has")
                return self.of_class(info.cls, path, pydantic)
        raise self._refused(path, f"there is no column for {type(info).__name__.removesuffix('Type')}")

    def _values(self, values: list[Any], path: str) -> Any:
        from pyspark.sql import types

        kinds = {type(value) for value in values}
        if kinds == {str}:
            return types.StringType()
        if kinds == {int}:
            return types.LongType()
        raise self._refused(path, "its values are neither all text nor all integers")

    def _refused(self, path: str, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"the type {self._name} cannot be the columns of a frame: {path} has no column, since {why}; "
            "say schema=, a StructType or the words of one"
        )


def _fields(of: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield the name in JSON, the type, and whether it must be there, of each field."""
    info: Any = inspect.type_info(of)
    for field in info.fields:
        yield field.encode_name, field.type, field.required


def _pydantic_fields(of: Any) -> Iterator[tuple[str, Any, bool]]:
    for name, field in of.__pydantic_fields__.items():
        called = field.serialization_alias or field.alias or name
        yield called, inspect.type_info(field.annotation), field.is_required()


# What columns can hold.


def needs_check(schema: StructType) -> bool:
    """Return whether a payload that fits the declared type may still not fit its columns."""
    from pyspark.sql import types

    return any(isinstance(one, types.DecimalType | types.TimestampType) for one in _leaves(schema))


def has_times(of: DataType) -> bool:
    """Return whether columns of a type hold days or moments."""
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
    """Return what finds out whether a JSON value fits columns of a type.

    Args:
        of: the type.
        zoned: whether a timestamp without a zone does not fit; else it is in UTC.
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
            return lambda value: None if type(value) is bool else f" is {value!r:.80}, no boolean"
        case types.ByteType() | types.ShortType() | types.IntegerType() | types.LongType():
            return _integer_check(
                {"tinyint": 8, "smallint": 16, "int": 32}.get(of.simpleString(), 64), of.simpleString()
            )
        case types.FloatType() | types.DoubleType():
            return lambda value: None if type(value) in (int, float, Decimal) else f" is {value!r:.80}, no number"
        case types.DecimalType():
            return _decimal_check(of.precision, of.scale)
        case types.TimestampType():
            return _moment_check(zoned)
        case types.TimestampNTZType():
            return lambda value: None if _is_moment(value) is False else f" is {value!r:.80}, no time without a zone"
        case types.DateType():
            return lambda value: None if _parses(_day, value) else f" is {value!r:.80}, no date such as 2026-03-01"
        case types.BinaryType():
            return lambda value: None if _parses(_base64, value) else f" is {value!r:.80}, no base64"
    return lambda value: None  # text takes anything, and a variant too


def _struct_check(fields: list[tuple[str, Check]]) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is not dict:
            return f" is {value!r:.80}, no object"
        for name, fits in fields:
            member = value.get(name)
            if member is not None and (wrong := fits(member)) is not None:
                return f".{name}{wrong}"
        return None

    return check


def _array_check(fits: Check) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is not list:
            return f" is {value!r:.80}, no list"
        for place, member in enumerate(value):
            if member is not None and (wrong := fits(member)) is not None:
                return f"[{place}]{wrong}"
        return None

    return check


def _map_check(fits: Check) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is not dict:
            return f" is {value!r:.80}, no object"
        for name, member in value.items():
            if member is not None and (wrong := fits(member)) is not None:
                return f"[{name!r:.80}]{wrong}"
        return None

    return check


def _integer_check(bits: int, name: str) -> Check:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def check(value: Any) -> str | None:
        if type(value) is int and least <= value <= most:
            return None
        if type(value) is dict and LARGE in value:
            return f" is {value[LARGE]!s:.80}, an integer beyond 64 bits, for which there is no column"
        return f" is {value!r:.80}, no {name}"

    return check


def _decimal_check(precision: int, scale: int) -> Check:
    def check(value: Any) -> str | None:
        if not (_DECIMAL.fullmatch(value) if type(value) is str else isinstance(value, int | Decimal)):
            return f" is {value!r:.80}, no decimal"
        try:
            _, digits, exponent = Decimal(value).normalize(_EXACT).as_tuple()
        except InvalidOperation:
            return f" is {value!r:.80}, no decimal"
        assert isinstance(exponent, int)  # noqa: S101 - or it would be none that JSON or the pattern has
        whole = len(digits) + exponent
        if type(value) is bool or -exponent > scale or (whole > precision - scale and any(digits)):
            return f" is {value!r:.80}, no decimal of {precision - scale} digits and {scale} behind the point"
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
            return f" is {value!r:.80}, no timestamp"
        return " has no time zone" if zoned and not has_zone else None

    return check


def _is_moment(value: Any) -> bool | None:
    """Return whether a time has a zone; None if it is no time."""
    try:
        return datetime.fromisoformat(value).tzinfo is not None if _MOMENT.fullmatch(value) else None
    except (TypeError, ValueError):
        return None


def _day(value: str) -> date:
    if not _DAY.fullmatch(value):
        raise ValueError(value)
    return date.fromisoformat(value)


_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""The one form of a day that Spark reads as we do: it takes 20260301 for the number of days since 1970."""

_MOMENT: Final = re.compile(
    _DAY.pattern + r"([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2}(:?[0-9]{2})?)?)?)?"
)
"""Of the forms of a moment that Python reads those that Spark reads too."""


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


# Text to columns, and back.


def with_columns(frame: DataFrame, schema: StructType | None) -> DataFrame:
    """Return a frame of messages with the payload's columns in place of its text."""
    if schema is None:
        return frame
    from pyspark.sql import functions

    others = [name for name in frame.columns if name != PAYLOAD]
    parsed = frame.select(*others, functions.from_json(PAYLOAD, schema, _READ).alias("_payload"))
    return parsed.select(*others, "_payload.*")


def payload_columns(schema: StructType) -> list[Any]:
    """Return the columns of a result that are payload."""
    return [field for field in schema.fields if field.name not in RESERVED and field.name != HOPS_COLUMN]


def carried(of: DataType) -> DataType:
    """Return a type as it travels in JSON: with text for decimals, which JSON's numbers would not keep."""
    from pyspark.sql import types

    match of:
        case types.StructType():
            return types.StructType([types.StructField(one.name, carried(one.dataType), one.nullable) for one in of])
        case types.ArrayType():
            return types.ArrayType(carried(of.elementType), of.containsNull)
        case types.MapType():
            return types.MapType(carried(of.keyType), carried(of.valueType), of.valueContainsNull)
        case types.DecimalType():
            return types.StringType()
    return of


def payload_text(result: DataFrame) -> tuple[Column, DataType | None]:
    """Return the payloads of a result as JSON text; and their type, None: it is text that the function has written.

    A column called `payload` that is the only one is the payload; else the columns are the fields of an object.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType, VariantType

    fields = payload_columns(result.schema)
    if [field.name for field in fields] != [PAYLOAD]:
        struct = StructType(sorted(fields, key=lambda field: field.name))
        whole = functions.struct(*(functions.col(_quoted(field.name)) for field in struct.fields))
        return functions.to_json(_cast(whole, struct), _WRITE), carried(struct)
    of: DataType = fields[0].dataType
    column = functions.col(PAYLOAD)
    if isinstance(of, StringType):
        return column, None
    if isinstance(of, StructType | ArrayType | MapType | VariantType):
        return functions.to_json(_cast(column, of), _WRITE), carried(of)
    lone = StructType([StructField("_", of)])
    listed = functions.to_json(functions.array(_cast(functions.struct(column.alias("_")), lone)["_"]), _WRITE)
    return functions.substring(listed, functions.lit(2), functions.length(listed) - 2), carried(of)


def _cast(column: Column, of: DataType) -> Column:
    travels = carried(of)
    return column if travels == of else column.cast(travels)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


# What the next station expects.


def check_fits(station: Frame, queue: str, expected: StructType, result: DataType | None) -> None:
    """Raise ConfigurationError if payloads of this type could not be read as what a queue declares.

    Args:
        station: whose result it is.
        queue: where it goes.
        expected: the columns of the type that is declared there.
        result: the type of the result's payloads, as they travel; None: text, of which nothing is known.
    """
    if result is not None and (wrong := _misfit(result, expected)) is not None:
        raise ConfigurationError(
            f"{station}: its result does not fit what the queue {queue!r} declares: payload{wrong}"
        )


def _misfit(found: Any, expected: Any) -> str | None:
    from pyspark.sql import types

    numbers = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
    match found, expected:
        case (types.NullType() | types.VariantType(), _) | (types.MapType(), types.StructType()):
            return None
        case types.StructType(), types.StructType():
            return _struct_misfit(found, expected)
        case types.StructType(), types.MapType():
            return next(
                (f".{one.name}{wrong}" for one in found if (wrong := _misfit(one.dataType, expected.valueType))), None
            )
        case types.ArrayType(), types.ArrayType():
            return _within("[]", _misfit(found.elementType, expected.elementType))
        case types.MapType(), types.MapType():
            return _within("[…]", _misfit(found.valueType, expected.valueType))
        case (types.StringType() | types.FloatType() | types.DoubleType(), types.DecimalType()):
            return None
        case types.FloatType(), types.DoubleType():
            return None
    if isinstance(found, numbers) and isinstance(expected, types.LongType | types.DoubleType | types.DecimalType):
        return None
    if found == expected:
        return None
    return f" is {found.simpleString()}, and {expected.simpleString()} is expected"


def _struct_misfit(found: StructType, expected: StructType) -> str | None:
    there = {field.name: field.dataType for field in found}
    for field in expected:
        if field.name in there:
            if (wrong := _misfit(there[field.name], field.dataType)) is not None:
                return f".{field.name}{wrong}"
        elif field.metadata.get("required"):
            return f".{field.name} is missing"
    return None


def _within(step: str, wrong: str | None) -> str | None:
    return None if wrong is None else f"{step}{wrong}"


def may_be_absent(schema: StructType) -> bool:
    """Return whether a declared type has fields that may be missing and cannot be null: columns have null for both."""
    from pyspark.sql import types

    def any_within(of: Any) -> bool:
        match of:
            case types.StructType():
                return any(_is_absent_when_null(field) or any_within(field.dataType) for field in of)
            case types.ArrayType():
                return any_within(of.elementType)
            case types.MapType():
                return any_within(of.valueType)
        return False

    return any_within(schema)


def without_absent(plain: Any, of: Any) -> Any:
    """Return a JSON value without the nulls that stand for missing fields."""
    from pyspark.sql import types

    match of:
        case types.StructType() if isinstance(plain, Mapping):
            fields = {field.name: field for field in of}
            return {
                name: without_absent(member, fields[name].dataType) if name in fields else member
                for name, member in plain.items()
                if member is not None or name not in fields or not _is_absent_when_null(fields[name])
            }
        case types.ArrayType() if isinstance(plain, list):
            return [without_absent(member, of.elementType) for member in plain]
        case types.MapType() if isinstance(plain, Mapping):
            return {name: without_absent(member, of.valueType) for name, member in plain.items()}
    return plain


def _is_absent_when_null(field: Any) -> bool:
    return not field.nullable and field.metadata.get("required") is False
