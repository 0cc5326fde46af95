"""Write the blocking face from the awaited one: `python tools/generate_sync.py [--check]`.

The awaited files under src/duerow/aio are written by hand; their twins under src/duerow/sync are made here and never
edited. With --check nothing is written, and the exit code tells whether they are up to date.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

SOURCE = Path(__file__).parent.parent / "src" / "duerow"
GENERATED = (
    "bulk.py",
    "unknown_kinds.py",
    "copy.py",
    "pipelines.py",
    "database.py",
    "definition.py",
    "directory.py",
    "entity.py",
    "edits.py",
    "operations.py",
    "history.py",
    "queue.py",
    "several_queues.py",
    "cluster_limit.py",
)
WORDS = {
    "aio": "sync",
    "aopen": "open",
    "arun": "run",
    "asyncio": "time",
    "AsyncConnections": "Connections",
    "AsyncIterator": "Iterator",
    "asynccontextmanager": "contextmanager",
}
PROSE = {"`async with ": "`with ", "`await ": "`"}
HEADER = "# Generated from ../aio/{name} by tools/generate_sync.py; edit that file instead.\n"


def main() -> int:
    """Generate, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the files are up to date")
    check = parser.parse_args().check
    stale = 0
    for name in GENERATED:
        target = SOURCE / "sync" / name
        wanted = generated(name)
        found = target.read_text() if target.exists() else ""
        if wanted == found:
            continue
        stale += 1
        if check:
            sys.stdout.writelines(
                difflib.unified_diff(found.splitlines(True), wanted.splitlines(True), str(target), "generated")
            )
        else:
            target.write_text(wanted)
            print(f"wrote {target}")
    if check and stale:
        print("the blocking face is out of date: run `python tools/generate_sync.py`")
    return 1 if check and stale else 0


def generated(name: str) -> str:
    """Return the blocking twin of one file of the awaited face."""
    with tempfile.TemporaryDirectory() as folder:
        rule = unasync.Rule(str(SOURCE / "aio"), folder, additional_replacements=WORDS)
        unasync.unasync_files([str(SOURCE / "aio" / name)], [rule])
        text = (Path(folder) / name).read_text()
    for awaited, blocking in PROSE.items():
        text = text.replace(awaited, blocking)
    return formatted(HEADER.format(name=name) + text, SOURCE / "sync" / name)


def formatted(text: str, path: Path) -> str:
    """Return the text as ruff leaves it: imports sorted, lines broken."""
    for command in (["check", "--quiet", "--fix-only", "--select", "I"], ["format", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    sys.exit(main())
