"""Lines of the documentation fit into 100 columns, so that they can be read and compared in a terminal."""

import re

from tests.docs.pages import COLUMNS, DOCS, ROOT

PAGES = sorted(
    [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "changelog.d").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
)

INCLUDED = re.compile(r'--8<-- "([^"]+)"')
"""A line that stands for a file; in a block called `py`, which is formatted as Python, it would not stay one."""

PYTHON_COLUMNS = 120
"""Of examples in Python, which are formatted as all sources are."""


def too_long(text: str) -> list[str]:
    """The lines that are too long, without those that cannot be broken: tables, headings, HTML and single words."""
    found: list[str] = []
    fence, columns = "", COLUMNS
    for line in text.splitlines():
        start = line.lstrip(" >-*")
        if start.startswith(("```", "~~~")) and (not fence or start.startswith(fence)):
            columns = PYTHON_COLUMNS if not fence and start[3:].startswith("python") else COLUMNS
            fence = "" if fence else start[:3]
        elif len(line) > columns and (fence or (not start.startswith(("|", "#", "<")) and " " in start)):
            found.append(line)
    return found


def test_no_line_of_a_page_is_too_long():
    found = {page.relative_to(ROOT): too_long(page.read_text()) for page in PAGES}
    assert {page: lines for page, lines in found.items() if lines} == {}


def test_prose_and_code_are_told_from_what_cannot_be_broken():
    prose = "a word " * 15
    assert too_long(f"{prose}\n- {prose}\n> {prose}") == [prose, f"- {prose}", f"> {prose}"]
    assert too_long(f"| {prose} |\n# {prose}\n```python\n{prose}\n```\n- https://{'a' * 120}\n") == []
    assert too_long(f"```sql\n{prose}\n```\n```python\n{prose}{prose}\n```\n") == [prose, prose + prose]


def test_every_file_that_a_page_includes_exists():
    included = [(page, line) for page in PAGES for line in page.read_text().splitlines() if line.startswith("--8")]
    assert [
        (page, line)
        for page, line in included
        if not (found := INCLUDED.fullmatch(line)) or not (ROOT / found[1]).exists()
    ] == []
