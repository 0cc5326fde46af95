"""What a run costs a PostgreSQL server and its client, counted by both of them and by the operating system.

The server's processor time is that of the postmaster and all its children, living and ended, so it holds what
autovacuum and the writers did meanwhile. It is read from /proc, in steps of 10 ms, where the server runs on this
machine.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, LiteralString, TypeVar

import psutil
import psycopg

from bench.processes import Prepared

T = TypeVar("T")

TICK = os.sysconf("SC_CLK_TCK")

COUNTERS: LiteralString = """
SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn,
       coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_hot_upd), 0), coalesce(sum(n_tup_upd + n_tup_del), 0),
       (SELECT coalesce(sum(heap_blks_hit + coalesce(idx_blks_hit, 0) + coalesce(toast_blks_hit, 0)
                            + coalesce(tidx_blks_hit, 0)), 0) FROM pg_statio_user_tables)
  FROM pg_stat_user_tables"""

OTHERS: LiteralString = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""

PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Counters:
    """What a server has counted so far, or counted between two moments.

    Attributes:
        wal_bytes: written to its log.
        updated: rows updated.
        hot: those of them that no index had to know of.
        dead: row versions that updates and deletes left behind.
        buffers: pages of the user's tables found in memory.
        server_us: microseconds of processor time of all its processes; 0 where they cannot be seen.
    """

    wal_bytes: float
    updated: float
    hot: float
    dead: float
    buffers: float
    server_us: float

    def since(self, earlier: Counters) -> Counters:
        """Return what was counted since an earlier moment."""
        return Counters(*(now - then for now, then in zip(astuple(self), astuple(earlier), strict=True)))


def count(url: str) -> Counters:
    """Read the counters, once nobody else is connected: a connection adds its own when it ends."""
    with psycopg.connect(url, autocommit=True) as connection:
        until = time.monotonic() + PATIENCE_SECONDS
        while _number(connection, OTHERS) and time.monotonic() < until:
            time.sleep(0.05)
        row = connection.execute(COUNTERS).fetchone()
        assert row is not None
        return Counters(*map(float, [*row, _server(connection.info.backend_pid)]))


def server_now(connection: psycopg.Connection[Any]) -> dict[str, float]:
    """Return the bytes of WAL and the server's processor time so far, which do not wait for connections to end."""
    wal = _number(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    return {"wal_bytes": wal, "server_us": _server(connection.info.backend_pid)}


def exact_time(pid: int) -> float:
    """Return the processor time of the threads of a process that are alive, in microseconds."""
    return sum(map(_nanoseconds, Path(f"/proc/{pid}/task").glob("*/schedstat"))) / 1e3


def _nanoseconds(schedstat: Path) -> int:
    try:
        return int(schedstat.read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return 0


def exact_server_time(backend: int) -> float:
    """Return the same for a backend's postmaster and its children."""
    postmaster = int(_stat(backend)[1])
    return sum(map(exact_time, (postmaster, *children(postmaster))))


def _number(connection: psycopg.Connection[Any], statement: LiteralString) -> int:
    row = connection.execute(statement).fetchone()
    return 0 if row is None else int(row[0])


def _server(backend: int) -> float:
    """The processor time of a backend's postmaster and its children, in microseconds."""
    try:
        postmaster = int(_stat(backend)[1])
        return sum(_ticks(pid) for pid in (postmaster, *children(postmaster))) / TICK * 1e6
    except FileNotFoundError:  # the server runs elsewhere
        return 0.0


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name, which may hold spaces: state, parent and so on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _ticks(pid: int) -> int:
    """The clock ticks that a process and those of its children that ended have used; none if it is gone by now."""
    try:
        return sum(int(field) for field in _stat(pid)[11:15])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def children(pid: int) -> list[int]:
    """The children of a process, ended ones that nobody waited for among them."""
    return [child.pid for child in psutil.Process(pid).children()]


def with_client_time(prepared: Prepared[T]) -> Callable[[], tuple[T, float]]:
    """Return what runs the same and answers with the client's processor time as well, in microseconds.

    Children count too, since clients in Node.js are processes of their own.
    """

    def run() -> tuple[T, float]:
        before = _client()
        result = prepared()
        return result, (_client() - before) * 1e6

    return run


def _client() -> float:
    """The processor time of this process and its children, those that ended included, in seconds."""
    waited_for = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    running = sum(_ticks(pid) for pid in children(os.getpid())) / TICK
    return running + sum(used.ru_utime + used.ru_stime for used in waited_for)
