"""Make a mistake in the library while it is loaded, so that a simulation can be tried on it."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import duerow
from duerow.stores.sql.plans import context
from tests.mutations.seeds import Mutation
from tests.simulation.world import place_of


@contextmanager
def broken(mutation: Mutation) -> Iterator[None]:
    """Make a mistake of `tests/mutations/seeds.py` within a block."""
    file = Path(duerow.__file__).parent / mutation.file
    name = "duerow." + mutation.file.removesuffix(".py").replace("/", ".")
    function = _function(importlib.import_module(name), mutation.function)
    right = function.__code__
    function.__code__ = _code(compile(mutation.applied(file.read_text()), str(file), "exec"), mutation.function)
    _build_anew()
    try:
        yield
    finally:
        function.__code__ = right
        _build_anew()


def _build_anew() -> None:
    """Forget statements and stores that were built before."""
    context._installation.cache_clear()
    place_of.cache_clear()


def _function(module: Any, name: str) -> FunctionType:
    """Return the function of this name in a module, or in one of its classes."""
    homes = [
        module,
        *(one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__),
    ]
    for home in homes:
        found = vars(home).get(name)
        if found is None:
            continue
        if isinstance(found, functools.cached_property):
            return found.func  # type: ignore[return-value]
        if isinstance(found, property):
            return found.fget  # type: ignore[return-value]
        return inspect.unwrap(found)
    raise LookupError(f"{module.__name__} has no function {name}")


def _code(code: CodeType, name: str) -> CodeType:
    """Return the code of the function of this name, wherever it is defined in a module's code."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_name == name:
                return one
            try:
                return _code(one, name)
            except LookupError:
                continue
    raise LookupError(name)
