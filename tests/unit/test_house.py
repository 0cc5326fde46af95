"""The house stays one that an engineer finds their way in: short files, plain names, a true map."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

SOURCE = ROOT / "src" / "duerow"

PYTHON = [path for folder in ("src", "tests", "bench", "tools", "examples") for path in (ROOT / folder).rglob("*.py")]

REVIEWED = [*(ROOT / "tests" / "sql").rglob("*.sql")]

MOST_LINES = 500

RETIRED = set(
    """
    aside claiming charting copying counting crew declaring defining dismiss glance hand keeping looking meter office
    operating outlasting pace pushing recalling reserving running settling shift standing taking ticking translation
    travelling watching working
    """.split()  # noqa: SIM905 - a list of quoted words would be harder to read
)
"""Words that files had once: what engineers of the field call these things stands in the glossary."""

PATH = re.compile(r"`([\w.{},*/-]*(?:\.(?:py|md|sql|html|toml)|/))`")
"""What looks like a path, in the text of a page."""

ANY = re.compile(r"[A-Z]{4,}")
"""What stands for any name in a path, such as NAME."""


def test_no_file_is_longer_than_a_reader_holds_in_mind():
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in PYTHON + REVIEWED}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_file_has_a_name_that_was_given_up():
    named = {path.relative_to(ROOT).as_posix() for path in PYTHON if path.stem.removeprefix("test_") in RETIRED}
    assert named == set()


def test_the_blocking_face_is_what_the_awaited_one_generates():
    check = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate_sync.py", "--check"], capture_output=True, text=True
    )
    assert (check.returncode, check.stdout + check.stderr) == (0, "")


def missing(text: str) -> list[str]:
    """Return the paths in a text that lead nowhere.

    A path may begin in a folder that its paragraph, or its row of a table, names, or in one that holds such a one.
    """
    return [
        path
        for paragraph in re.split(r"\n\n|\n(?=[|\d-])", text)
        for paths in [PATH.findall(paragraph)]
        for near in [folders_of(paths)]
        for path in paths
        if not any(reached(folder, path) for folder in near)
    ]


def folders_of(paths: list[str]) -> set[Path]:
    """Return the folders that full paths name, and those that hold these."""
    found = {folder for path in paths for start in (ROOT, SOURCE) for folder in reached(start, path)}
    return {ROOT, SOURCE, *(parent for one in found for parent in (one, *one.parents) if ROOT in parent.parents)}


def reached(folder: Path, path: str) -> list[Path]:
    return [*folder.glob(ANY.sub("*", path))] if folder.is_dir() else []


def test_every_path_on_the_page_about_the_architecture_exists():
    assert missing((DOCS / "explanation" / "architecture.md").read_text()) == []


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("`queue/nowhere.py`", ["queue/nowhere.py"]),
        ("`worker/fetcher.py`, and `prefetch.py` beside it", []),
        ("`prefetch.py` in `worker/`", []),
        ("`dialects/NAME/dialect.py` of `stores/sql/`", []),
        ("`dialects/NAME/nowhere.py` of `stores/sql/`", ["dialects/NAME/nowhere.py"]),
        ("`prefetch.py`, whose folder nobody named", ["prefetch.py"]),
        ("`worker/fetcher.py`\n\n`prefetch.py` of another paragraph", ["prefetch.py"]),
    ],
)
def test_a_path_that_leads_nowhere_would_be_noticed(text: str, lost: list[str]):
    assert missing(text) == lost
