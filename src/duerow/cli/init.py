"""The command that writes a first application."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import typer

from duerow.cli.output import tell
from duerow.errors import ConfigurationError
from duerow.store import Settings, find_backend

FILES: Final = ("messages.py", "test_messages.py", "README.md")

URL: Final = "DATABASE_URL"
"""The placeholder for the database's URL in the templates."""


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write it; default: here.")] = Path(),
    url: Annotated[str, typer.Option("--db", metavar="URL", help="The application's database.")] = "sqlite:///app.db",
) -> None:
    """Write a first application: a queue with its handler, a test, and a README with the commands to try."""
    find_backend(url).open(url, Settings())  # does not connect, but refuses an invalid URL
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        raise ConfigurationError(f"{folder / taken[0]} already exists: nothing was written; name an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_text(_written(name, url), encoding="utf-8")
    where = "" if folder == Path() else f"cd {folder} && "
    tell(f"wrote {', '.join(str(folder / name) for name in FILES)}")
    tell(f"try it: {where}python messages.py ana@example.org && duerow worker messages:mail --until empty", err=True)


def _written(name: str, url: str) -> str:
    text = files("duerow.cli").joinpath("first", f"{name}.txt").read_text(encoding="utf-8")
    return text.replace(f'"{URL}"', json.dumps(url)).replace(URL, url)
