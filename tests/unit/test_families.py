"""A family of databases is its own folder's business: nothing else is written with one of them in mind."""

from pathlib import Path

import pytest

import duerow
from tests.unit.source import read

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
        for word in read(path).words
        if any(name in word.lower() for name in FAMILIES[family])
    }
    assert not said


def is_of(family: str, path: Path) -> bool:
    return any(part.startswith(family) for part in path.relative_to(SOURCE).parts)
