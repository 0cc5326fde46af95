"""The pages of the documentation, as the blocks that stand in them."""

import re
from dataclasses import dataclass
from pathlib import Path

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
        note: what a comment right above it says: `run` or `file NAME`.
        line: where the text begins in its page, from 1.
    """

    language: str
    text: str
    note: str
    line: int


def pages() -> list[Path]:
    """Every page that users read, apart from the design notes."""
    return sorted(page for page in DOCS.rglob("*.md") if "design" not in page.relative_to(DOCS).parts)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    text = page.read_text()
    return [
        Block(found["language"], found["text"], found["note"] or "", text.count("\n", 0, found.start("text")) + 1)
        for found in BLOCK.finditer(text)
    ]


def name(page: Path) -> str:
    """How a page is called in the names of tests."""
    return str(page.relative_to(DOCS))
