"""Pickling of stations for the executors, with the functions and types of the program.

Definitions in a module are pickled by name; definitions in the main program or a notebook are pickled by value.
"""

from __future__ import annotations

import io
from pickle import PicklingError
from typing import Any, Final

import msgspec
from pyspark import cloudpickle

_CACHE: Final = "__msgspec_cache__"
"""The attribute in which msgspec caches information about a type; msgspec rebuilds it if it is missing."""


def dumps(value: object) -> bytes:
    """Return a value as bytes that the executors can load; raise PicklingError if it cannot be pickled."""
    file = io.BytesIO()
    _Pickler(file).dump(value)  # type: ignore[no-untyped-call]
    return file.getvalue()


class _Pickler(cloudpickle.Pickler):
    """Cloudpickle, extended for msgspec."""

    def reducer_override(self, obj: Any) -> Any:
        """Pickle types without msgspec's cache; refuse a Struct by value, which would lose its fields."""
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
