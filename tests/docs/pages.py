"""The pages of the documentation, as the blocks that stand in them."""

import json
import re
import textwrap
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

COLUMNS = 100
"""How wide the pages are, so that they can be read and compared in a terminal."""

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^>]*) -->\n)?^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        language: what stands behind its fence, such as python, text or console.
        text: what stands between its fences.
        note: what a comment right above it says: `run`, `file NAME`, or one that `tools/page_trial.py` explains.
        line: where the text begins in its page, from 1.
    """

    language: str
    text: str
    note: str
    line: int


def pages() -> list[Path]:
    """Every page that users read, apart from the design notes."""
    return sorted(page for page in DOCS.rglob("*.md") if "design" not in page.relative_to(DOCS).parts)


@cache
def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    text = page.read_text()
    return [
        Block(found["language"], found["text"], found["note"] or "", text.count("\n", 0, found.start("text")) + 1)
        for found in BLOCK.finditer(text)
    ]


def as_json(page: Path) -> str:
    """The blocks of a page, as `tools/page_trial.py` takes them."""
    return json.dumps([asdict(block) for block in blocks(page)])


def name(page: Path) -> str:
    """How a page is called in the names of tests."""
    return str(page.relative_to(DOCS))


def folded(output: str) -> str:
    """Return output as pages show it: a line that is too long for them goes on below, indented."""
    lines = (fold(line) if len(line) > COLUMNS else [line] for line in output.splitlines())
    return "".join(f"{part}\n" for parts in lines for part in parts)


def fold(line: str) -> list[str]:
    """Return a line in parts, broken at spaces and behind commas."""
    breakable = line.replace(",", ",\v").replace("\v ", " ")
    parts = textwrap.wrap(
        breakable, COLUMNS, subsequent_indent="    ", break_on_hyphens=False, replace_whitespace=False
    )
    return [part.replace("\v", "") for part in parts]
