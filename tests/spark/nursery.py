"""Forks the processes of Python that Spark starts to plan, to commit and to read streams, besides those of its tasks.

Spark starts `python -m pyspark.daemon pyspark.sql.worker.…` for each kind of plan, whose forks end when they were idle
for a minute, and a process for each stream. Each of them loads the library and drivers, which takes most of its time.
So the first one that Spark starts loads all of this, and leaves behind a process which forks the later ones: these only
pass on what they were given. They wait as long as the fork lives, and if one of them is ended, so is its fork.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
from importlib import import_module
from typing import NoReturn

LOADED = (
    "pyspark.sql.worker.commit_data_source_write",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark_duerow",
    "duerow.spark.sink",
    "duerow.spark.source",
    "duerow.spark.streams",
    "pyarrow.pandas_compat",
    "psycopg",
    "pymongo",
    "pymysql",
)
"""What they import; not the modules that they are, which Python would load again, and warn."""

LENGTH = struct.Struct("!I")
"""How many bytes follow."""


def hand_over(module: str, arguments: list[str]) -> None:
    """Have the nursery of this Java do as `python -m module arguments`, and end when that has ended.

    Returns if there is no nursery. It is then forked from this process, unless this one reads a stream: the nursery
    ends when Java no longer writes to the process that it was forked from.
    """
    name = f"\0duerow-nursery-{os.getppid()}"  # such a name ends with its process, and needs no file
    _pass_on(name, module, arguments)
    if module != "pyspark.daemon":
        return
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            listening.bind(name)
        except OSError:  # another process was faster
            return
        listening.listen()
        load()
        if os.fork() == 0:
            _serve(listening)


def load() -> None:
    """Load what such processes import."""
    for name in LOADED:
        import_module(name)

    from duerow.store.backends import backend_named

    for scheme in ("sqlite", "postgresql", "mysql", "mongodb"):
        backend_named(scheme)
    gc.collect()
    gc.freeze()


def _pass_on(name: str, module: str, arguments: list[str]) -> None:
    """Give the nursery what Spark gave this process; return if there is none, or if it ends."""
    with socket.socket(socket.AF_UNIX) as nursery:
        try:
            nursery.connect(name)
        except OSError:
            return
        if not _is_ours(nursery):  # the environment may hold passwords
            return
        told = json.dumps([module, arguments, os.getcwd(), sys.path, dict(os.environ)]).encode()
        try:
            socket.send_fds(nursery, [LENGTH.pack(len(told))], [0, 1, 2])
            nursery.sendall(told)
            begun = nursery.recv(1)
        except OSError:
            return
        if begun:
            nursery.recv(1)  # returns when the fork has ended
            os._exit(0)


def _serve(listening: socket.socket) -> NoReturn:
    """Fork a process for each that passes on what it was given, until Java closes what its parent reads."""
    os.setsid()  # Spark ends groups of processes
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    looking = select.poll()
    looking.register(0, 0)  # Java writes to it, but never to this process
    looking.register(listening, select.POLLIN)
    while all(file != 0 for file, _ in looking.poll()):
        given, _ = listening.accept()
        if _is_ours(given) and os.fork() == 0:
            listening.close()
            _be_program(given)
        given.close()
    os._exit(0)


def _is_ours(given: socket.socket) -> bool:
    """Whether the process at the other end is of the same user; anybody can connect, and take the name first."""
    own = struct.Struct("3i")
    return own.unpack(given.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, own.size))[1] == os.getuid()


def _be_program(given: socket.socket) -> NoReturn:
    """Be the process that Spark started."""
    code = 1
    try:
        head, files, *_ = socket.recv_fds(given, LENGTH.size, 3)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        with given.makefile("rb") as rest:
            module, arguments, folder, sys.path[:], environment = json.loads(rest.read(LENGTH.unpack(head)[0]))
        given.sendall(b"1")
        # When the process that passed this on is ended, so is this one.
        fcntl.fcntl(given, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(given, fcntl.F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(given, fcntl.F_SETFL, fcntl.fcntl(given, fcntl.F_GETFL) | os.O_ASYNC)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.path.insert(0, folder)
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
