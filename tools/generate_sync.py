"""Write the blocking face from the awaited one: `python tools/generate_sync.py [--check]`.

Awaited files, in folders called `aio`, are written by hand. Their twins, in the folder `sync` beside them, are made
here and never edited, but for those that are listed in BY_HAND. With --check nothing is written, and the exit code
tells whether they are up to date.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import unasync

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "duerow"
BY_HAND = {
    ".": {
        "__init__.py",
        "face.py",
        "offload.py",
        "orm.py",
        "processes.py",
        "pipeline_workers.py",
        "wakeup.py",
        "worker_tasks.py",
    },
    "stores/sql/connections": {
        "__init__.py",
        "connections.py",
        "handlers.py",
        "raw.py",
        "through_sqlalchemy.py",
    },
    "stores/mongodb": {
        "__init__.py",
        "clients.py",
    },
    "stores/http": {
        "__init__.py",
        "clients.py",
    },
}
"""What differs so much between the faces that both write it for themselves, by the folder that holds the two."""

WORDS = {
    "aio": "sync",
    "acall": "call",
    "acall_now": "call_now",
    "aopen": "open",
    "arun": "run",
    "asyncio": "time",
    "AbstractAsyncContextManager": "AbstractContextManager",
    "AsyncClientSession": "ClientSession",
    "AsyncConnections": "Connections",
    "AsyncExecute": "Execute",
    "AsyncListener": "Listener",
    "AsyncIterator": "Iterator",
    "AsyncMongoClient": "MongoClient",
    "AsyncOwnTransaction": "OwnTransaction",
    "AsyncSilentListener": "SilentListener",
    "AsyncStreamListener": "StreamListener",
    "AwaitedMongoConnections": "BlockingMongoConnections",
    "afinish": "finish",
    "asynccontextmanager": "contextmanager",
    "asynchronous": "synchronous",
    "signals_of_task": "signals_of_thread",
    "stopped_in_loop_by": "stopped_by",
    "worker_tasks": "worker_threads",
}
PROSE = {"`async with ": "`with ", "`await ": "`"}
PROSE_OF = {
    "aio/stations.py": {
        "in tasks, a worker for each station": "in threads, a worker for each station",
        "made by `Pipeline.aworker`": "made by `Pipeline.worker`",
        "the database is not async.": "the database is not blocking.",
        "see `Pipeline.arun`": "see `Pipeline.run`",
    },
    "aio/worker.py": {
        "whose handlers are coroutine functions, run as tasks of one event loop.": "whose handlers run in threads.",
        "to a coroutine function, as tasks, and": "to a function, in threads, and",
        "handler: awaited with": "handler: called with",
        "`AsyncConnection`": "`Connection`",
        "each in its own task.": "each in its own thread.",
        "the handler is cancelled.": "the handler is told (`duerow.current()`), and another thread takes its place.",
        "then they are cancelled, and their": "then their",
        """
    Only handlers run on the loop that awaits `run`. Claims, settlements and leases use a separate thread with its own
    event loop and connections, so a handler that blocks its loop loses no lease and holds up no transaction. (A
    blocking connection would work too, but not every driver has one, and an engine that the user passes may be async
    only.)
""": "",
        "ConfigurationError: a setting is": "ConfigurationError: the handler is an async function, or a setting is",
        "a second signal, or if this call is cancelled, it": "a second signal it",
        """Default: those without another handler, if this is awaited in the main task of `asyncio.run`, and so not
                in a task that runs next to a server. True: both, in the main thread.
""": """Default: only in the main thread, which receives them.
""",
    },
}
"""What else the twin of a file says."""

HEADER = "# Generated from ../aio/{name} by tools/generate_sync.py; edit that file instead.\n"


def main() -> int:
    """Generate, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the files are up to date")
    check = parser.parse_args().check
    stale = 0
    for target, wanted in generated().items():
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


def twins() -> Iterator[tuple[Path, Path]]:
    """Yield each awaited file that has a generated twin, and that twin."""
    for folder, by_hand in BY_HAND.items():
        for source in sorted((SOURCE / folder / "aio").glob("*.py")):
            if source.name not in by_hand:
                yield source, SOURCE / folder / "sync" / source.name


def generated() -> dict[Path, str]:
    """Return the blocking twins of all awaited files, by their paths."""
    with tempfile.TemporaryDirectory() as folder:
        copies = {target: Path(folder) / target.relative_to(SOURCE) for _, target in twins()}
        for source, target in twins():
            copies[target].parent.mkdir(parents=True, exist_ok=True)
            copies[target].write_text(translated(source, Path(folder)))
        tidy(Path(folder))
        return {target: copy.read_text() for target, copy in copies.items()}


def translated(source: Path, folder: Path) -> str:
    """Return the blocking twin of an awaited file, not formatted yet."""
    rule = unasync.Rule(str(source.parent), str(folder), additional_replacements=WORDS)
    unasync.unasync_files([str(source)], [rule])
    written = folder / source.name
    text = written.read_text()
    written.unlink()
    place = source.relative_to(SOURCE).as_posix()
    for awaited, blocking in {**PROSE, **PROSE_OF.get(place, {})}.items():
        if awaited not in text and awaited not in PROSE:
            raise SystemExit(f"{place} no longer says {awaited!r}; change PROSE_OF in tools/generate_sync.py as well")
        text = text.replace(awaited, blocking)
    return HEADER.format(name=source.name) + text


def tidy(folder: Path) -> None:
    """Format the files in a folder as ruff formats ours: imports sorted, lines broken."""
    settings = ["--quiet", "--no-cache", "--config", str(ROOT / "pyproject.toml"), str(folder)]
    for command in (["check", "--fix-only", "--select", "I"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *settings], check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
