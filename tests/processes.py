"""Processes that start in a moment: forked from one that has no threads, and has loaded what most of them need."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Final

LOADED: Final = [
    "duerow.stores.sql",
    "duerow.aio",
    "duerow.sync",
    "duerow.cli.application",
    "examples.flights.command",
    "duerow.testing.faults",
    "duerow.testing.conformance.fixtures",
    "duerow.testing.torture.run",
    # Drivers, which `connect` imports when it meets their URLs: to load one takes longer than most of their work.
    "psycopg",
    "pymysql",
    "asyncmy",
    "aiosqlite",
    "sqlalchemy.ext.asyncio",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.mysql.pymysql",
    "sqlalchemy.dialects.mysql.asyncmy",
    "sqlalchemy.dialects.sqlite.aiosqlite",
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
        told = (module, [*arguments], str(cwd), dict(os.environ if env is None else env), *map(str, said))
        process = forking().Process(target=_be_program, args=told)
        process.start()
        process.join(patience)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{module} did not end")
        return subprocess.CompletedProcess([module, *arguments], process.exitcode, *(one.read_text() for one in said))


def _be_program(module: str, arguments: list[str], cwd: str, env: dict[str, str], stdout: str, stderr: str) -> None:
    for number, path in ((1, stdout), (2, stderr)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path.insert(0, cwd)
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # which the end of such a process passes over
