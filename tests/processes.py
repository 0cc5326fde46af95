"""Processes that start in a moment: forked from one that has no threads, and has loaded what most of them need."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import IO, Any, Final

from duerow.store import backends

LOADED: Final = [
    "duerow.stores.sql",
    "duerow.aio",
    "duerow.sync",
    "duerow.stores.sql.dialects.sqlite.family",
    "duerow.stores.sql.dialects.postgresql.family",
    "typer._adapters",
    "pydantic.type_adapter",  # with which typer reads arguments
    "examples.flights.command",
    "duerow.testing.faults",
    "duerow.testing.conformance.fixtures",
    "duerow.testing.torture.run",
    "tests.servers.fixtures",  # which tests load whose functions are carried out by processes
    # Drivers, which `connect` imports when it meets their URLs: to load one takes longer than most of their work.
    "psycopg",
    "pymysql",
    "asyncmy",
    "aiosqlite",
    "sqlalchemy.ext.asyncio",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.mysql.pymysql",
    "sqlalchemy.dialects.mysql.asyncmy",
    "sqlalchemy.dialects.mssql",  # which the indexes of a program's own tables ask for on any database
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "tests.ready",  # the last one, since it keeps what is loaded from being searched for garbage
]
"""Modules; one that is not there is passed over."""


def forking() -> ForkServerContext:
    """Return what starts such processes; all that a test process starts are forked from the same one."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy, which the demo draws with, has threads
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    return context


def run_program(
    module: str, arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, patience: float = 600
) -> subprocess.CompletedProcess[str]:
    """Do as `python -m module arguments` in a process of its own, and return what it printed and its exit code.

    Args:
        module: the program.
        arguments: what it is told.
        cwd: where it is, and finds modules.
        env: its environment; by default this one.
        patience: seconds after which it hangs, so that TimeoutError is raised.
    """
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder, name) for name in ("stdout", "stderr")]
        files = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in said]
        process = begin(module, arguments, cwd, env, {1: files[0], 2: files[1]})
        process.join(patience)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{module} did not end")
        return subprocess.CompletedProcess([module, *arguments], process.exitcode, *(one.read_text() for one in said))


class Running:
    """A program that runs beside a test, which talks to it through pipes; much like `subprocess.Popen`.

    Attributes:
        pid: the number of its process.
        stdin, stdout, stderr: the test's ends of the pipes.
    """

    def __init__(self, process: ForkServerProcess, stdin: IO[str], stdout: IO[str], stderr: IO[str]) -> None:
        assert process.pid is not None
        self.pid = process.pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self._process = process

    @property
    def returncode(self) -> int | None:
        """Its exit code, or minus the number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self, patience: float = 600) -> int:
        """Wait until it ends, and return its exit code; TimeoutError: it hangs."""
        self._process.join(patience)
        if self.returncode is None:
            raise TimeoutError(f"{self._process.name} did not end")
        return self.returncode

    def communicate(self, text: str = "", patience: float = 600) -> tuple[str, str]:
        """Write a text to it, and wait until it ends; return the rest of what it says, and complains of."""
        with self.stdin as stdin:
            stdin.write(text)
        complaints: list[str] = []
        reading = threading.Thread(target=lambda: complaints.append(self.stderr.read()))
        reading.start()
        said = self.stdout.read()
        reading.join()
        self.wait(patience)
        return said, complaints[0]


@contextmanager
def running_program(
    module: str, arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """Do as `python -m module arguments` in a process of its own for as long as the block runs; then it is killed.

    Args:
        module: the program.
        arguments: what it is told.
        cwd: where it is, and finds modules.
        env: its environment; by default this one.
    """
    pipes = [os.pipe() for _ in range(3)]
    process = begin(module, arguments, cwd, env, {0: pipes[0][0], 1: pipes[1][1], 2: pipes[2][1]})
    with open(pipes[0][1], "w") as stdin, open(pipes[1][0]) as stdout, open(pipes[2][0]) as stderr:
        running = Running(process, stdin, stdout, stderr)
        try:
            yield running
        finally:
            running.kill()
            process.join()


def begin(
    module: str, arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None, files: Mapping[int, int]
) -> ForkServerProcess:
    """Begin to do as `python -m module arguments` in a process of its own, and return the process.

    Args:
        module: the program.
        arguments: what it is told.
        cwd: where it is, and finds modules.
        env: its environment; None: this one.
        files: what its standard streams lead to, by their numbers in it; they are closed here.
    """
    streams = {number: Connection(file) for number, file in files.items()}  # which can be passed to another process
    told = (module, [*arguments], str(cwd), dict(os.environ if env is None else env), streams)
    process = forking().Process(target=_be_program, args=told, name=module)
    process.start()
    for one in streams.values():
        one.close()
    return process


def _be_program(
    module: str, arguments: list[str], cwd: str, env: dict[str, str], streams: dict[int, Connection[Any, Any]]
) -> None:
    for number, stream in streams.items():
        os.dup2(stream.fileno(), number)
        stream.close()
    _open_streams(env.get("PYTHONIOENCODING"))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with Ctrl-C ignored
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path.insert(0, cwd)
    backends._installed.cache_clear()  # a package in this folder may bring a store
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # which the end of such a process passes over


def _open_streams(encoding: str | None) -> None:
    """Open the standard streams as Python does when it starts: those of the server know what it wrote to."""
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
