"""The names of `duerow` and of `duerow.spark` are there, and are imported when they are first asked for."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import duerow
import duerow.queue
import duerow.spark
from duerow.errors import DuerowError


def read_by_type_checkers(module: ModuleType) -> dict[str, str]:
    """The names that a type checker finds in a module, and where they come from."""
    assert module.__file__
    found = ast.walk(ast.parse(Path(module.__file__).read_text()))
    return {
        name.name: line.module or ""
        for line in found
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("duerow")
        for name in line.names
    }


@pytest.mark.parametrize("module", [duerow, duerow.queue, duerow.spark])
def test_what_type_checkers_read_is_what_is_there(module: ModuleType) -> None:
    known = read_by_type_checkers(module)
    assert set(known) == set(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name, home in known.items():
        there = sys.modules.get(f"{home}.{name}") or getattr(__import__(home, fromlist=[name]), name)
        assert getattr(module, name) is there, name


def test_a_module_is_there_as_well_and_a_name_that_is_not_says_so() -> None:
    assert duerow.errors.DuerowError is DuerowError
    assert duerow.retry.limited is duerow.limited  # type: ignore[attr-defined]
    for module in (duerow, duerow.queue, duerow.spark):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'conect'"):
            module.conect  # noqa: B018


def test_to_import_duerow_alone_imports_next_to_nothing() -> None:
    script = (
        "import sys, duerow, duerow.spark; print(*sorted(name for name in sys.modules if name.startswith('duerow')))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [
        "duerow",
        "duerow.errors",
        "duerow.phrases",
        "duerow.spark",
        "duerow.spark.java",
        "duerow.spark.session",
    ]


def test_the_blocking_face_on_postgresql_and_sqlite_needs_no_orm(tmp_path: Path) -> None:
    script = (
        f"import sys, duerow; duerow.connect('sqlite:///{tmp_path}/app.db', migrate=True).queue('a').push(1); "
        "print([name for name in ('sqlalchemy.orm', 'sqlalchemy.ext.asyncio') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
