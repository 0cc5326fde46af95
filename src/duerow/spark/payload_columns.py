"""JSON text to columns, with Spark's `from_json`, and columns to JSON text, with `to_json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from duerow.pipeline.frame import RESERVED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


PAYLOAD: Final = "payload"
"""The column that holds a complete payload."""


HOPS_COLUMN: Final = "_hops"
"""The column with the most moves of any message in a batch; it is added where hops are limited."""


_READ: Final = {"mode": "FAILFAST", "timeZone": "UTC"}


_WRITE: Final = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "dateFormat": "yyyy-MM-dd",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def with_columns(frame: DataFrame, schema: StructType | None) -> DataFrame:
    """Return a frame of messages with the payload's columns in place of its text."""
    if schema is None:
        return frame
    from pyspark.sql import functions

    others = [name for name in frame.columns if name != PAYLOAD]
    parsed = frame.select(*others, functions.from_json(PAYLOAD, schema, _READ).alias("_payload"))
    return parsed.select(*others, "_payload.*")


def payload_columns(schema: StructType) -> list[Any]:
    """Return the names of the columns of a result that hold the payload."""
    return [field for field in schema.fields if field.name not in RESERVED and field.name != HOPS_COLUMN]


def carried(of: DataType) -> DataType:
    """Return a type as JSON carries it: decimals as text, because JSON numbers would change them."""
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
    """Return the payloads of a result as JSON text, and their type; None if the function wrote the text itself.

    A column called `payload`, if it is the only one, is the payload; otherwise the columns are the fields of an object.
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
