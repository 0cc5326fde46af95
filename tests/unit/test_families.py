"""A family of databases is its own folder's business: nothing else is written with one of them in mind."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import duerow

SOURCE = Path(duerow.__file__).parent

FAMILIES = {
    "mysql": ("mysql", "mariadb", "asyncmy"),
    "mssql": ("mssql", "sqlserver", "pyodbc", "aioodbc"),
    "mongodb": ("mongo", "bson"),
}
"""What code would say that knows of a family that was added to SQLite and PostgreSQL."""


@pytest.mark.parametrize("family", FAMILIES)
def test_no_code_outside_of_its_folder_knows_of_a_family(family: str):
    others = [path for path in sorted(SOURCE.rglob("*.py")) if not is_of(family, path)]
    assert len(others) < len(list(SOURCE.rglob("*.py")))
    said = {
        f"{path.relative_to(SOURCE)}: {word}"
        for path in others
        for word in words_of(path)
        if any(name in word.lower() for name in FAMILIES[family])
    }
    assert not said


def is_of(family: str, path: Path) -> bool:
    return any(part.startswith(family) for part in path.relative_to(SOURCE).parts)


@cache
def words_of(path: Path) -> frozenset[str]:
    return frozenset(words(ast.parse(path.read_text())))


def words(tree: ast.AST) -> Iterator[str]:
    """Yield all that is code: names, modules and texts, but not what explains it to people."""
    explained = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word) | ast.keyword(arg=str(word)):
                yield word
            case ast.ImportFrom(module=str(word)):
                yield word
            case ast.Constant(value=str(word)) if id(node) not in explained:
                yield word
            case _:
                pass
