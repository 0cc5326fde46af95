"""Nothing that a user can call is missing in the reference, and no link leads nowhere."""

import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main

import duerow
import duerow.aio
import duerow.contrib.django
import duerow.entity
import duerow.spark
import duerow.web
from duerow.cli.application import app
from duerow.spark.command import app as on_spark
from examples.flights.command import app as demo
from tests.docs.pages import DOCS, ROOT, pages

DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#[^)]*)?\)")


def commands(of: Any, called: str) -> dict[str, Any]:
    """The commands of a program by their names, those of its groups among them."""
    if not hasattr(of, "commands"):
        return {called: of}
    found = [commands(command, f"{called} {name}") for name, command in of.commands.items()]
    if of.invoke_without_command:
        found.append({called: of})
    return {name: command for part in found for name, command in part.items()}


COMMANDS = commands(typer.main.get_command(app), "duerow")
PROGRAMS = COMMANDS | {
    "python -m examples.flights": typer.main.get_command(demo),
    "python -m duerow.spark": typer.main.get_command(on_spark),
}
COMMAND_PAGE = DOCS / "reference" / "command.md"


def find(path: str) -> Any:
    """The module, class or function that a directive names."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        module, _, member = path.rpartition(".")
        return getattr(import_module(module), member)


def documented() -> set[int]:
    """The identities of all that the reference pages take in: what they name, and what is defined in a named module."""
    found: set[int] = set()
    for page in (DOCS / "reference").glob("*.md"):
        for path in DIRECTIVE.findall(page.read_text()):
            thing = find(path)
            found.add(id(thing))
            if inspect.ismodule(thing):
                found |= {id(member) for member in vars(thing).values()}
    return found


@pytest.mark.parametrize(
    "module",
    [duerow, duerow.aio, duerow.contrib.django, duerow.entity, duerow.spark, duerow.web],
    ids=lambda module: module.__name__,
)
def test_every_public_name_is_in_the_reference(module: Any):
    known = documented()
    missing = [name for name in module.__all__ if id(getattr(module, name)) not in known]
    assert missing == []


@pytest.mark.parametrize("command", PROGRAMS)
def test_every_command_is_in_the_reference_with_all_its_options(command: str):
    section = sections(COMMAND_PAGE)[command]
    missing = [option for option in options(PROGRAMS[command]) if f"`{option}" not in section]
    assert missing == []


def test_the_reference_shows_no_command_that_is_not_there():
    assert set(sections(COMMAND_PAGE)) == set(PROGRAMS)


def test_each_extra_of_the_package_is_among_those_that_can_be_installed() -> None:
    package = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())
    rows = re.findall(r"^\| (`[^|]*) \|", (DOCS / "reference" / "install.md").read_text(), re.MULTILINE)
    shown = [extra for row in rows for extra in re.findall(r"`([^`]+)`", row)]
    assert sorted(shown) == sorted(package["project"]["optional-dependencies"])


def options(command: Any) -> list[str]:
    """How the options of a command are written in their long form, and what its arguments are called."""
    return [
        max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar
        for parameter in command.params
    ]


def sections(page: Path) -> dict[str, str]:
    """The sections of second order, by their titles."""
    parts = re.split(r"^## `?([^\n`]+)`?\n", page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_link_to_another_page_leads_to_one():
    targets = [(page, target) for page in pages() for target in LINK.findall(page.read_text())]
    there = [(page, target) for page, target in targets if target and "://" not in target]
    assert [(page, target) for page, target in there if not (page.parent / target).exists()] == []


def test_pages_with_graphs_have_what_draws_them_beside_them() -> None:
    # Where `mermaid` is not defined yet, the theme's script fetches it from another host.
    configured = (DOCS.parent / "mkdocs.yml").read_text()
    (script,) = re.findall(r"^extra_javascript:\n  - (\S+)", configured, re.MULTILINE)
    assert 'globalThis["mermaid"] = ' in (DOCS / script).read_text()
    assert (DOCS / script).with_name("LICENSE").read_text().startswith("The MIT License")


def test_each_picture_is_shown_on_a_page_and_each_that_is_shown_is_there() -> None:
    pages = [page.read_text() for page in (*DOCS.rglob("*.md"), ROOT / "README.md")]
    shown = {name for text in pages for name in re.findall(r"assets/(dashboard/[\w-]+\.png)", text)}
    assert shown == {str(file.relative_to(DOCS / "assets")) for file in (DOCS / "assets" / "dashboard").iterdir()}
