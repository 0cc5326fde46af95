"""The databases that are measured: a durable PostgreSQL server and SQLite files, each run from the same start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from bench import ours
from bench.floor import TABLE, open_floor
from bench.floor_mariadb import connected
from bench.messages import QUEUE, payload_text


class Database(Protocol):
    """A place with duerow's tables that can be emptied."""

    url: str

    def fill(self, count: int) -> list[int]:
        """Start anew with `count` due messages, pushed by duerow itself; return their ids."""

    def waiting(self, queue: str = QUEUE) -> list[int]:
        """Return the ids of a queue's messages."""


class Server:
    """A PostgreSQL server whose role may create databases and checkpoint."""

    def __init__(self, url: str) -> None:
        self.url = url

    def database(self, name: str, template: str = "template1") -> str:
        """Make an empty database of that name, or a copy of another, dropping an older one; return its URL."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            connection.execute(made.format(sql.Identifier(name), sql.Identifier(template)))
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def settings(self) -> dict[str, str]:
        """Return the version and the settings that matter to what is measured."""
        names = ["server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method"]
        names += ["shared_buffers", "max_wal_size", "autovacuum", "jit"]
        with psycopg.connect(self.url) as connection:
            rows = connection.execute(
                "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)", (names,)
            )
            return dict(rows.fetchall())


@contextmanager
def postgresql(*given: str) -> Iterator[Server]:
    """A server with fsync and synchronous_commit on, and with the settings given (`name=value`).

    If DUEROW_TEST_POSTGRESQL_URL names a server, it is that one, with settings of its own.
    """
    from tests.servers.postgresql import running

    with running(*given, durable=True) as url:
        server = Server(url)
        settings = server.settings()
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            if settings[name] != "on":
                raise RuntimeError(f"the server has {name} = {settings[name]}: the bars are stated for a durable one")
        yield server


def settle_down(url: str) -> None:
    """Vacuum, analyze and checkpoint a database of PostgreSQL, so that none of it falls into a measurement."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


class PostgresqlDatabase:
    """A database of the server with duerow's tables."""

    def __init__(self, server: Server, name: str) -> None:
        self.url = server.database(name)
        ours.migrate(self.url)

    def clear(self) -> None:
        """Remove every message."""
        self._run(f"TRUNCATE {TABLE}")

    def fill(self, count: int, others: int = 0) -> list[int]:
        """Start anew with `count` due messages, vacuumed and analyzed, right after a checkpoint.

        Args:
            count: how many in the queue that is measured.
            others: how many more in ten other queues.
        """
        self.clear()
        if others:
            self._insert("'other-' || n %% 10", "{}", others)
        ids = ours.fill(self.url, count)
        self.settle_down()
        return ids

    def crowd(self, waiting: int, queues: int) -> None:
        """Start anew with so many due messages, spread over so many queues, vacuumed and analyzed."""
        self.clear()
        self._insert(f"'{QUEUE}-' || lpad((n %% {queues})::text, 4, '0')", payload_text(0), waiting)
        self.settle_down()

    def settle_down(self) -> None:
        """Vacuum, analyze and checkpoint, so that neither falls into a measurement."""
        self._run(f"VACUUM ANALYZE {TABLE}")
        self._run("CHECKPOINT")

    def waiting(self, queue: str = QUEUE) -> list[int]:
        """Return the ids of a queue's messages."""
        return [row[0] for row in self._run(f"SELECT id FROM {TABLE} WHERE queue = %s", queue)]

    def _insert(self, queue: str, payload: str, count: int) -> None:
        """Insert so many due messages; `queue` is an expression over their number `n`."""
        self._run(
            f"INSERT INTO {TABLE} (queue, kind, payload, priority, status, attempts, token,"
            " due_at, place_at, first_due_at, created_at)"
            f" SELECT {queue}, 'json', %s, 0, 'new', 0, 0, now(), now(), now(), now()"
            " FROM generate_series(1, %s) AS n",
            payload,
            count,
        )

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []


class MariadbDatabase:
    """A database of a MariaDB server that writes each commit to the disk, with duerow's tables."""

    def __init__(self, url: str) -> None:
        self.url = url
        (self.version, flushes), *_ = self._run("SELECT VERSION(), @@innodb_flush_log_at_trx_commit")
        if flushes != 1:
            raise RuntimeError(f"innodb_flush_log_at_trx_commit is {flushes}: the bars are stated for a durable server")
        ours.migrate(url)

    def fill(self, count: int) -> list[int]:
        """Start anew with `count` due messages, analyzed."""
        self._run(f"TRUNCATE TABLE {TABLE}")
        ids = ours.fill(self.url, count)
        self._run(f"ANALYZE TABLE {TABLE}")
        return ids

    def waiting(self, queue: str = QUEUE) -> list[int]:
        """Return the ids of a queue's messages."""
        return [row[0] for row in self._run(f"SELECT id FROM {TABLE} WHERE queue = %s", queue)]

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with connected(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())


class SqliteDatabase:
    """A file with duerow's tables, made anew at each start."""

    def __init__(self, folder: Path, name: str = "bench") -> None:
        self._path = folder / f"{name}.db"
        self.url = f"sqlite:///{self._path}"
        self.clear()

    def clear(self) -> None:
        """Make the file anew."""
        for leftover in self._path.parent.glob(f"{self._path.name}*"):
            leftover.unlink()
        ours.migrate(self.url)

    def fill(self, count: int) -> list[int]:
        """Start anew with `count` due messages, the log written back to the file."""
        self.clear()
        ids = ours.fill(self.url, count)
        self.settle_down()
        return ids

    def settle_down(self) -> None:
        """Analyze, and write the log back to the file."""
        with closing(open_floor(self.url)) as floor:
            floor.connection.execute("ANALYZE")
            floor.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def waiting(self, queue: str = QUEUE) -> list[int]:
        """Return the ids of a queue's messages."""
        with closing(open_floor(self.url)) as floor:
            rows = floor.connection.execute(f"SELECT id FROM {TABLE} WHERE queue = {queue!r}")
            return [row[0] for row in rows.fetchall()]
