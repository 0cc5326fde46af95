"""Other versions of duerow, each in a virtual environment of its own, made without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import duerow

PACKAGE: Final = Path(duerow.__file__).parent
MIGRATIONS: Final = Path("stores", "sql", "migrations", "__init__.py")
NEWEST: Final = '    ("0007 batches", m0007_batches.statements),\n'


def copied(folder: Path, version: str, change: Callable[[Path], None] | None = None) -> str:
    """Return an interpreter whose duerow is a copy of this one with another version number.

    Args:
        folder: where it is made.
        version: the number.
        change: is given the copied package, and changes it.
    """
    tree = folder / "tree"
    shutil.copytree(PACKAGE, tree / PACKAGE.name)  # with what is compiled, which stays valid
    if change is not None:
        change(tree / PACKAGE.name)
    return interpreter(folder, tree, version)


def interpreter(folder: Path, tree: Path, version: str) -> str:
    """Return an interpreter that finds a package in a folder, and all else where this interpreter does."""
    described = distribution("duerow")
    about = tree / f"duerow-{version}.dist-info"
    about.mkdir()
    metadata = (described.read_text("METADATA") or "").replace(
        f"\nVersion: {described.version}\n", f"\nVersion: {version}\n"
    )
    (about / "METADATA").write_text(metadata)
    (about / "entry_points.txt").write_text(described.read_text("entry_points.txt") or "")
    python = bare(folder)
    (site_packages(folder) / "other.pth").write_text(f"{tree}\n{sysconfig.get_path('purelib')}\n")
    return python


def bare(folder: Path) -> str:
    """Return an interpreter without any package."""
    venv.create(folder / "venv", symlinks=True, with_pip=False)
    return str(folder / "venv" / "bin" / "python")


def site_packages(folder: Path) -> Path:
    """Return the folder of an interpreter's packages."""
    base = str(folder / "venv")
    return Path(sysconfig.get_path("purelib", "venv", {"base": base, "platbase": base}))


def with_notes(name: str) -> Callable[[Path], None]:
    """Return a change of a package that adds a migration, which makes a table of notes.

    Args:
        name: the name of the migration.
    """

    def change(package: Path) -> None:
        file = package / MIGRATIONS
        text = file.read_text()
        assert NEWEST in text, "a new migration: change NEWEST here, and the numbers in the tests"
        made = "[CreateTable(Table(tables.prefix + 'notes', MetaData(), Column('id', Integer, primary_key=True)))]"
        added = f'    ("{name}", lambda tables, dialect: {made}),\n'
        text = text.replace(NEWEST, NEWEST + added)
        text = text.replace(
            "import insert, literal, select", "import Column, Integer, MetaData, Table, insert, literal, select"
        )
        file.write_text(text)

    return change


def from_history(folder: Path, commit: str) -> Path:
    """Return a folder with the sources of a commit of this checkout."""
    tree = folder / "tree"
    tree.mkdir()
    packed = subprocess.run(
        ["git", "archive", commit, "src/duerow"], cwd=PACKAGE.parent.parent, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x", "--strip-components=1", "-C", os.fspath(tree)], input=packed, check=True)
    return tree


def earliest_with(file: str) -> str | None:
    """Return the commit of this checkout in which a file of the package came; None: that is not known here."""
    found = subprocess.run(
        ["git", "log", "--diff-filter=A", "--format=%H", "--", f"src/duerow/{file}"],
        cwd=PACKAGE.parent.parent,
        capture_output=True,
        text=True,
    )
    return next(iter(found.stdout.split()[::-1]), None) if found.returncode == 0 else None
