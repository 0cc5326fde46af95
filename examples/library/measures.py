"""Measures functions by their source text. This module does not use queues."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from examples.library import modules
from examples.library.payloads import Measured, Piece, Shape, Summary

Function = ast.FunctionDef | ast.AsyncFunctionDef

BRANCHING: Final = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.comprehension,
    ast.match_case,
)


def pieces(module: str) -> list[Piece]:
    """Return the pieces of a module: the module itself, then its functions and the methods of its classes.

    Raises:
        SyntaxError: the module is not valid Python.
    """
    text = modules.read(module)
    lines = text.split("\n")
    functions = list(_functions(ast.parse(text), ""))
    of = len(functions) + 1
    whole = Piece(module, "", 1, text.count("\n"), of, "")
    return [whole, *(_piece(module, name, function, of, lines) for name, function in functions)]


def measure(piece: Piece) -> Measured:
    """Measure a piece; for the piece that stands for the module itself, there is nothing to measure."""
    if not piece.name:
        return Measured(piece.module, "", piece.lines, piece.of, 0, False, False)
    function = _parsed(piece)
    return Measured(
        piece.module,
        piece.name,
        piece.lines,
        piece.of,
        1 + sum(_parting(node) for node in ast.walk(function)),
        ast.get_docstring(function, clean=False) is not None,
        function.returns is not None or any(argument.annotation for argument in _arguments(function)),
    )


def shape(piece: Piece) -> Shape:
    """Return the shape of a function: its syntax tree without the names."""
    function = Nameless().visit(_parsed(piece))
    text = ast.dump(function, annotate_fields=False)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Shape(piece.module, piece.name, piece.line, sum(1 for _ in ast.walk(function)), digest)


def summary(parts: Sequence[Measured]) -> Summary:
    """Add up the pieces of a module, in any order."""
    [whole] = [part for part in parts if not part.name]
    functions = [part for part in parts if part.name]
    longest = max(functions, key=lambda part: (part.branches, part.name), default=whole)
    return Summary(
        whole.module,
        whole.lines,
        len(functions),
        sum(part.documented for part in functions),
        sum(part.annotated for part in functions),
        sum(part.branches for part in functions),
        longest.name,
        longest.branches,
    )


class Nameless(ast.NodeTransformer):
    """Replaces the names in a function with numbers, by first use; removes docstrings, types and decorators."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Handle a function, which may be nested in another one."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Handle an async function."""
        return self._function(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Handle a variable of any scope."""
        node.id = self._number(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Handle a parameter."""
        node.arg, node.annotation = self._number(node.arg), None
        return node

    def _function(self, node: Function) -> ast.AST:
        node.name, node.returns, node.decorator_list = "", None, []
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, str(len(self._numbers)))


def _functions(node: ast.Module | ast.ClassDef, of: str) -> Iterator[tuple[str, Function]]:
    """Yield the functions of a module or class with their names, including those under an `if` or a `try`."""
    coming: list[ast.AST] = [*reversed(node.body)]
    while coming:
        one = coming.pop()
        if isinstance(one, Function):
            yield of + one.name, one
        elif isinstance(one, ast.ClassDef):
            yield from _functions(one, f"{of}{one.name}.")
        elif isinstance(one, ast.stmt | ast.ExceptHandler):
            coming += reversed(list(ast.iter_child_nodes(one)))


def _piece(module: str, name: str, function: Function, of: int, lines: Sequence[str]) -> Piece:
    first, last = function.lineno, function.end_lineno or function.lineno
    return Piece(module, name, first, last - first + 1, of, "\n".join(lines[first - 1 : last]))


def _parsed(piece: Piece) -> Function:
    """Parse the function of a piece; its text may be indented."""
    inside = ast.parse(f"if 1:\n{piece.source}" if piece.source[:1].isspace() else piece.source)
    return next(node for node in ast.walk(inside) if isinstance(node, Function))


def _parting(node: ast.AST) -> int:
    """Return how many paths a node adds to its function."""
    return len(node.values) - 1 if isinstance(node, ast.BoolOp) else int(isinstance(node, BRANCHING))


def _arguments(function: Function) -> list[ast.arg]:
    given = function.args
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]
