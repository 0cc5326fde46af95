"""Refuse a release whose tag is not its version, or whose changes are not gathered; else print what it changes.

python -m tools.release_check v0.2.0
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]


class NotReady(Exception):
    """The tree is not what the tag names."""


def notes(root: Path, tag: str) -> str:
    """Return the changelog's section on a tag.

    Raises:
        NotReady: the tag is not the version, fragments are left, or the changelog has no such section.
    """
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    if tag != f"v{version}":
        raise NotReady(f"the tag is {tag}, but pyproject.toml has version {version}: tag the commit v{version}")
    left = sorted(one.name for one in (root / "changelog.d").glob("*.*.md"))
    if left:
        raise NotReady(f"changelog.d has {len(left)} changes that are not in CHANGELOG.md: run make changelog")
    sections = re.split(r"^## \[([^\]]+)\].*\n", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    found = dict(zip(sections[1::2], sections[2::2], strict=True)).get(version, "").strip()
    if not found:
        raise NotReady(f"CHANGELOG.md says nothing of {version}: run make changelog")
    return found


if __name__ == "__main__":
    try:
        print(notes(ROOT, sys.argv[1]))
    except NotReady as error:
        sys.exit(f"{error}")
