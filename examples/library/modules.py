"""The modules of Python's standard library, which comes with Python: the work of hundreds of people over 30 years.

Tests and compiled modules are left out.
"""

from __future__ import annotations

import ast
import os
import sysconfig
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Final

LEFT_OUT: Final = frozenset(
    {"site-packages", "dist-packages", "lib-dynload", "test", "tests", "idle_test", "__pycache__"}
)
"""Folders that are not part of the library, and folders with its tests."""


@cache
def files() -> dict[str, Path]:
    """Return each module's file by the module's name, sorted by name."""
    root = Path(sysconfig.get_path("stdlib"))
    return dict(sorted((_name(path.relative_to(root)), path) for path in _python(root)))


def names(packages: tuple[str, ...] = ()) -> list[str]:
    """Return the names of all modules, or only of those in the given packages."""
    if not packages:
        return list(files())
    return [name for name in files() if name in packages or name.startswith(tuple(f"{one}." for one in packages))]


def read(name: str) -> str:
    """Return the source text of a module."""
    with tokenize.open(files()[name]) as file:  # uses the encoding that the file declares
        return file.read()


@cache
def imports(name: str) -> tuple[str, ...]:
    """Return the names of the library modules that this module imports directly, with their parent packages.

    Imports inside functions do not count, because they run later, if at all.
    """
    found = set(_with_parents(name))
    for node in _at_once(ast.parse(read(name))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.update(_with_parents(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), _package(name))
            found.update(_with_parents(base))
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return tuple(sorted(found & files().keys() - {name}))


def _python(root: Path) -> Iterator[Path]:
    """Yield the Python files below a folder whose names are valid module names."""
    for folder, inside, found in os.walk(root):
        inside[:] = [name for name in inside if name.isidentifier() and name not in LEFT_OUT]
        yield from (Path(folder, name) for name in found if name.endswith(".py") and name[:-3].isidentifier())


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _package(name: str) -> str:
    return name if files()[name].name == "__init__.py" else name.rpartition(".")[0]


def _with_parents(name: str) -> Iterator[str]:
    """Yield a module and the packages that contain it, which are imported before it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _at_once(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node that runs when a module is imported, which is all except the bodies of functions."""
    coming = [tree]
    while coming:
        node = coming.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            coming += ast.iter_child_nodes(node)
