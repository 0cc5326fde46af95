"""Stations on their way to the executors, with the functions and types of the program that made them.

What a module defines travels by its name; what the program itself or a notebook defines, by value.
"""

from __future__ import annotations

import io
from pickle import PicklingError
from typing import Any, Final

import msgspec
from pyspark import cloudpickle

_CACHE: Final = "__msgspec_cache__"
"""Where msgspec keeps what it knows of a type: it makes that anew wherever it is missing."""


def dumps(value: object) -> bytes:
    """Return a value as bytes that the executors' Python can load; PicklingError if it cannot travel."""
    file = io.BytesIO()
    _Pickler(file).dump(value)  # type: ignore[no-untyped-call]
    return file.getvalue()


class _Pickler(cloudpickle.Pickler):
    """Cloudpickle, which knows nothing of msgspec."""

    def reducer_override(self, obj: Any) -> Any:
        """Let types travel without msgspec's cache; refuse a Struct by value, which would arrive without fields."""
        if not isinstance(obj, type):
            return super().reducer_override(obj)  # type: ignore[no-untyped-call]
        if _CACHE in vars(obj):
            delattr(obj, _CACHE)
        reduced = super().reducer_override(obj)  # type: ignore[no-untyped-call]
        if reduced is not NotImplemented and issubclass(obj, msgspec.Struct):
            raise PicklingError(
                f"the Struct {obj.__name__} is defined in the program itself: define it in a module, or as a dataclass"
            )
        return reduced
