"""What duerow's own files say, read once for all the tests that look at every one of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

EXPLAINED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
"""What a text at its beginning explains to people."""


@dataclass(frozen=True)
class Source:
    """What a file says.

    Attributes:
        words: all that is code: names, modules and texts, but not what explains it to people.
        imports: the modules that it imports, wherever in it, each with the names that it takes from them.
        classes: the public classes, each with the number of its bases.
    """

    words: frozenset[str]
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    classes: tuple[tuple[str, int], ...]


@cache
def read(path: Path) -> Source:
    """Read a file; not while tests are collected, which every process does."""
    tree = ast.parse(path.read_text())
    words: set[str] = set()
    imports: list[tuple[str, tuple[str, ...]]] = []
    explanations: set[int] = set()
    for node in ast.walk(tree):  # each before what is in it
        if isinstance(node, EXPLAINED) and node.body and isinstance(node.body[0], ast.Expr):
            explanations.add(id(node.body[0].value))
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word) | ast.keyword(arg=str(word)):
                words.add(word)
            case ast.ImportFrom(module=str(word), names=names):
                words.add(word)
                imports.append((word, tuple(alias.name for alias in names)))
            case ast.Constant(value=str(word)) if id(node) not in explanations:
                words.add(word)
            case ast.Import(names=names):
                imports += [(alias.name, ()) for alias in names]
            case _:
                pass
    public = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    return Source(frozenset(words), tuple(imports), tuple((node.name, len(node.bases)) for node in public))
