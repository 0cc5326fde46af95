"""Follow a page of the documentation as a new user would, in the current folder; imports nothing of duerow's tree.

    python -P tools/page_trial.py < BLOCKS

BLOCKS are the page's blocks in their order, as JSON: objects with `language`, `text`, `note` and `line`. A block of
Python is run in one namespace for the whole page. The notes say what else is done:

- `file NAME` and `append NAME` write to a file,
- `run` and `shell` run the lines that begin with `$ `, and compare what they print with the lines below, if any;
  `export` holds for the lines and blocks below it,
- `server` starts the line that begins with `$ ` and leaves it running until the page ends.

The environment is there already, so lines that make or fill one are left out. Port 8000 stands for a free one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PORT = "8000"
PATIENCE = 30.0
"""Seconds in which a server answers, and in which what runs in the background has its effect."""

PROMPT = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
"""A command, and what stands below it."""

PREPARED = ("python -m venv", "pip install")


def main() -> None:
    """Follow the page on standard input; end with an error where it does not do what it says."""
    port = free_port()
    servers: list[subprocess.Popen[bytes]] = []
    scope: dict[str, Any] = {"__name__": "__main__"}
    sys.path.insert(0, os.getcwd())
    shown = json.load(sys.stdin)
    try:
        for number, block in enumerate(shown):
            block["text"] = block["text"].replace(PORT, port)
            below = shown[number + 1] if number + 1 < len(shown) else None
            printed = carry_out(block, scope, servers, port)
            if below is not None and below["language"] == "text" and printed != below["text"]:
                sys.exit(f"line {block['line']} printed {printed!r}, not {below['text']!r}")
    finally:
        for server in servers:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(PATIENCE)


def carry_out(block: dict[str, Any], scope: dict[str, Any], servers: list[Any], port: str) -> str:
    """Do what a block says; return what its Python printed."""
    kind, _, file = block["note"].partition(" ")
    if kind in ("file", "append"):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a" if kind == "append" else "w") as written:
            written.write(block["text"])
    elif kind == "server":
        for command, _ in PROMPT.findall(block["text"]):
            servers.append(start(command, port))
    elif kind in ("run", "shell"):
        for command, output in PROMPT.findall(block["text"]):
            if not command.startswith(PREPARED):
                check(block["line"], command, output)
    elif block["language"] == "python":
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block["text"], f"line {block['line']}", "exec"), scope)  # noqa: S102 - the page's own
        return printed.getvalue()
    return ""


def check(line: int, command: str, output: str) -> None:
    """Run a command; if the page shows what it prints, wait until it prints that."""
    until = time.monotonic() + PATIENCE
    if exported := re.match(r"export (\w+)=(\S+)$", command):
        os.environ[exported[1]] = exported[2]
        return
    while True:
        done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, check=False)
        printed = "".join(f"{part.rstrip()}\n" for part in done.stdout.rstrip().splitlines())
        if done.returncode == 0 and output in ("", printed):
            return
        # A request that only reads may have to wait for what a worker does.
        if not re.match(r"curl (-s )?\S+$", command) or time.monotonic() > until:
            sys.exit(f"line {line}: {command!r} ended with {done.returncode} and printed {printed!r}: {done.stderr}")
        time.sleep(0.1)


def start(command: str, port: str) -> subprocess.Popen[bytes]:
    """Start a server, and return once its port answers."""
    with open("server.log", "ab") as log:
        server = subprocess.Popen(["bash", "-ec", command], stdout=log, stderr=log, start_new_session=True)
    until = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("localhost", int(port))):
            return server
        if server.poll() is not None or time.monotonic() > until:
            sys.exit(f"{command!r} serves nothing on port {port}: {Path('server.log').read_text()}")
        time.sleep(0.1)


def free_port() -> str:
    """Return a port of this machine that nothing uses."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return str(asked.getsockname()[1])


if __name__ == "__main__":
    main()
