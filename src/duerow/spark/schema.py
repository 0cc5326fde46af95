"""The schemas of frames: the columns for declared types (`schema_of`), and whether a result fits the next queue.

`payload_columns.py` turns payloads into these columns and back; `value_checks.py` finds values that do not fit them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import inspect

from duerow.errors import ConfigurationError, shown
from duerow.payload.types import Declared
from duerow.pipeline import Frame
from duerow.pipeline.frame import RESERVED
from duerow.spark.payload_columns import HOPS_COLUMN, PAYLOAD

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

DIGITS: Final = 38
SCALE: Final = 18
"""The precision and scale of the column for a declared Decimal."""


# Declared types as schemas.


def schema_of(of: Any) -> StructType:
    """Return the columns for a declared type: a dataclass, Struct, TypedDict or pydantic model.

    A Decimal becomes decimal(38, 18), an aware datetime timestamp, a naive datetime timestamp_ntz, and bytes binary;
    UUIDs, times, timedeltas and enums get the type of their JSON form. The metadata `required` of a column says whether
    a payload must have the field.

    Raises:
        ConfigurationError: no column type fits a field; the error names the field.
    """
    Declared(of)  # refuses types that cannot be declared at all
    found: StructType = _Types(of.__name__).of_class(of, of.__name__)
    _check_names([field.name for field in found.fields], of.__name__)
    return found


def frame_schema(station: Frame) -> StructType | None:
    """Return the columns for the payloads of a frame station; None if the payload is one column of text.

    Raises:
        ConfigurationError: the schema cannot be read, or has a column with a name that all frames use.
    """
    schema = _given_schema(station)
    if schema is not None and schema.names == [PAYLOAD]:
        raise ConfigurationError(
            f"{station}: the only field of its payloads is called {PAYLOAD!r}, and a single column of that name is "
            "the payload itself; leave payload= and schema= out, and read the JSON text"
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
        except Exception as error:  # Spark's parser raises many kinds of errors
            raise ConfigurationError(
                f"{station}: schema {shown(station.schema, 200)} cannot be read: {error}"
            ) from error
    if not isinstance(schema, StructType) or not schema.fields:
        raise ConfigurationError(f"{station}: schema must be a Spark StructType with columns, not {shown(schema)}")
    _check_names([field.name for field in schema.fields], str(station))
    return schema


def _check_names(names: list[str], of: str) -> None:
    known: dict[str, str] = {}
    for name in names:
        if name.lower() in RESERVED or name.lower() == HOPS_COLUMN:
            raise ConfigurationError(f"{of}: a field is called {name!r}, which is the name of a column in all frames")
        if known.setdefault(name.lower(), name) != name:
            raise ConfigurationError(f"{of}: {known[name.lower()]!r} and {name!r} are the same column to Spark")


class _Types:
    """Finds the columns for the fields of a declared type."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._within: list[type] = []

    def of_class(self, of: Any, path: str, pydantic: bool = False) -> Any:
        """Return the columns for a class with fields."""
        if of in self._within:
            raise self._refused(path, f"{of.__name__} contains itself, which a column cannot")
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
        """Return the type of a column, and whether it can be null."""
        if isinstance(info, inspect.Metadata):
            return self._column(info.type, path, pydantic)
        if not isinstance(info, inspect.UnionType):
            return self._one(info, path, pydantic), False
        others = [one for one in info.types if not isinstance(one, inspect.NoneType)]
        if {type(one) for one in others} == {inspect.IntType, inspect.FloatType}:
            others = [one for one in others if isinstance(one, inspect.FloatType)]
        if len(others) != 1:
            raise self._refused(path, "it can be of several types")
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
                raise self._refused(path, "it is stored as a list, not as an object")
            case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType() | inspect.CustomType():
                if isinstance(info, inspect.CustomType) and not hasattr(info.cls, "__pydantic_fields__"):
                    raise self._refused(path, f"{info.cls.__name__} is not a JSON type")
                return self.of_class(info.cls, path, pydantic)
        raise self._refused(path, f"there is no column type for {type(info).__name__.removesuffix('Type')}")

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
            f"the type {self._name} cannot be the columns of a frame: {path} has no column type, because {why}; "
            "pass schema=, a StructType or its text"
        )


def _fields(of: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield each field's name in JSON, its type, and whether it is required."""
    info: Any = inspect.type_info(of)
    for field in info.fields:
        yield field.encode_name, field.type, field.required


def _pydantic_fields(of: Any) -> Iterator[tuple[str, Any, bool]]:
    for name, field in of.__pydantic_fields__.items():
        called = field.serialization_alias or field.alias or name
        yield called, inspect.type_info(field.annotation), field.is_required()


# What the next station expects.


def check_fits(station: Frame, queue: str, expected: StructType, result: DataType | None) -> None:
    """Raise ConfigurationError if payloads of this type cannot be read as the type that a queue declares.

    Args:
        station: the station that returns the result.
        queue: the queue to which the result goes.
        expected: the columns for the type that this queue declares.
        result: the type of the result's payloads; None if they are text of unknown structure.
    """
    if result is not None and (wrong := _misfit(result, expected)) is not None:
        raise ConfigurationError(
            f"{station}: its result does not fit the payload type that queue {queue!r} declares: payload{wrong}"
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
    """Return whether a type has fields that can be missing but not null; in a column, both are null."""
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
