"""What the pages show is what happens: their examples are run, and print what stands below them."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import Block, blocks, folded, name, pages
from tests.processes import run_program

WRITTEN_ADDRESS = "app@localhost/shop"
"""Whom, where and what the pages connect to, for which a test puts a database of its own."""

WRITTEN_MARIADB = f"mysql://{WRITTEN_ADDRESS}"
"""The same on MariaDB."""

WRITTEN_MONGODB = "localhost:27017/shop"
"""Where the pages keep queues in MongoDB."""

WRITTEN_API = "https://TOKEN@queues.example.org/shop"
"""Where the pages reach queues over HTTP."""

RUN = {"", "run", "file", "shell"}
"""The notes of blocks; `shell` stands above what only a trial of the page runs, such as `pip install`."""

TRIED = RUN | {"append", "server"}
"""The notes of pages that only trials follow."""

LONG = {"how-to/analytics.md", "how-to/frame-stations.md"}
"""Pages whose examples Spark takes long for; other tests meet what they show in `make test`."""


def is_followed(page: Path) -> bool:
    """Return whether a page starts servers, so that test_trials.py follows it in a process of its own."""
    return any(block.note == "server" for block in blocks(page))


PAGES = [
    pytest.param(page, marks=pytest.mark.soak) if name(page) in LONG else page
    for page in pages()
    if any(block.language == "python" for block in blocks(page)) and not is_followed(page)
]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_examples_of_a_page_do_what_it_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
):
    shown = blocks(page)
    address = ""
    if any(WRITTEN_MARIADB in block.text for block in shown):
        address = request.getfixturevalue("mariadb_address")
    elif any(WRITTEN_ADDRESS in block.text for block in shown):
        address = request.getfixturevalue("database_address")
    if any(WRITTEN_MONGODB in block.text for block in shown):
        mongodb = request.getfixturevalue("mongodb_address")
        shown = [replace(block, text=block.text.replace(WRITTEN_MONGODB, mongodb)) for block in shown]
    if any(WRITTEN_API in block.text for block in shown):
        api = request.getfixturevalue("api_address")
        shown = [replace(block, text=block.text.replace(WRITTEN_API, api)) for block in shown]
    if any("duerow.spark" in block.text for block in shown if block.language == "python"):
        request.getfixturevalue("session")  # which the page then has as its own
    monkeypatch.chdir(tmp_path)
    # Not by syspath_prepend(), which looks through what a server in another thread may be importing.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    scope: dict[str, Any] = {"__name__": "__main__"}
    for number, block in enumerate(shown):
        printed = carry_out(block, page, scope, address, capsys)
        if number + 1 < len(shown) and (below := shown[number + 1]).language in ("text", "mermaid"):
            assert (folded(printed) if below.language == "text" else printed) == below.text, f"{page}:{below.line}"


def carry_out(block: Block, page: Path, scope: dict[str, Any], address: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Do what a block shows; return what it prints."""
    text = block.text.replace(WRITTEN_ADDRESS, address)
    if block.note.startswith("file "):
        Path(block.note.removeprefix("file ")).write_text(text)
    elif block.language == "python":
        # With empty lines before it, so that a traceback points into the page.
        exec(compile("\n" * (block.line - 1) + text, page, "exec"), scope)
    elif block.note == "run":
        assert session(text) == text, f"{page}:{block.line}"
    return capsys.readouterr().out


def session(text: str) -> str:
    """Run the commands of a console block; return the block as it turns out."""
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    words = [shlex.split(command.replace("\\\n", "")) for command in commands]
    shown = zip(commands, words, strict=True)
    return "".join(f"$ {command}\n{folded(output(called))}" for command, called in shown)


def output(command: list[str]) -> str:
    """What a command of duerow's prints on a terminal of 100 columns."""
    assert command[0] == "duerow"
    done = run_program("duerow.cli.main", command[1:], Path.cwd(), {"COLUMNS": "100", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().splitlines())


def test_no_example_of_a_page_is_left_out():
    for page in pages():
        found = blocks(page)
        assert sum(block.language == "python" for block in found) == page.read_text().count("```python"), page
        assert {block.note.partition(" ")[0] for block in found} <= (TRIED if is_followed(page) else RUN), page
