"""Each finding is on the page about the doctor, and is brought about by a test that asserts its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import duerow
from duerow.stores.sql.dialects.mysql.diagnosis import _VARIABLES
from duerow.stores.sql.dialects.postgresql.diagnosis import _SETTINGS

SOURCE = Path(duerow.__file__).parent
ROOT = SOURCE.parent.parent
PAGE = ROOT / "docs" / "how-to" / "doctor.md"
TESTS = (*ROOT.glob("tests/doctor/test_any*.py"), *ROOT.glob("tests/stores/*/test_doctor.py"))
MORE = ROOT / "tests/stores/mongodb/test_refusals.py"


def codes() -> set[str]:
    """Return the codes of all findings that the source makes."""
    files = [*SOURCE.glob("doctor/*.py"), *SOURCE.rglob("diagnosis.py")]
    return {code for file in files for code in codes_of(ast.parse(file.read_text()))}


def codes_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding"):
            continue
        match ast.unparse(node.args[0]):
            case "f'cannot-{step}'":
                yield from (f"cannot-{step}" for step in assigned(tree, "step"))
            case "f\"setting-{one.name.replace('_', '-')}\"":
                yield from (f"setting-{one.name.replace('_', '-')}" for one in _SETTINGS)
            case "one.code":
                yield from (one.code for one in _VARIABLES)
            case other:
                yield ast.literal_eval(other)  # fails for a code that is made in a way not known here


def assigned(tree: ast.Module, name: str) -> Iterator[str]:
    """Yield the texts that are assigned to a name."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Constant(value=str(text))) if found == name:
                yield text


def asserted(file: Path) -> Iterator[str]:
    """Yield the texts in assertions of a file, and those that parameters bring into them."""
    for test in ast.walk(ast.parse(file.read_text())):
        if not isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        claims = [node for node in ast.walk(test) if isinstance(node, ast.Assert)]
        names = {node.id for claim in claims for node in ast.walk(claim) if isinstance(node, ast.Name)}
        given = [one for one in test.decorator_list if {"code", "codes"} & names and "parametrize" in ast.unparse(one)]
        looped = [node.iter for node in ast.walk(test) if isinstance(node, ast.For) and names & targets(node)]
        for part in (*claims, *given, *looped):
            yield from (node.value for node in ast.walk(part) if is_text(node))


def targets(loop: ast.For) -> set[str]:
    return {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_each_finding_is_documented() -> None:
    assert len(codes()) > 35
    page = PAGE.read_text()
    assert [code for code in sorted(codes()) if f"`{code}`" not in page] == []


def test_each_finding_is_brought_about() -> None:
    claimed = {text for file in (*TESTS, MORE) for text in asserted(file)}
    assert codes() - claimed == set()
