"""What a scenario is given: the size, the databases, and a way to say what it is doing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.databases import MariadbDatabase, PostgresqlDatabase, Server, SqliteDatabase, postgresql
from bench.peers.templates import Templates
from bench.results import Result
from bench.sizes import Size


@dataclass
class Context:
    """The size of the run and its databases, each started when first asked for and ended with the run."""

    size: Size
    say: Callable[[str], None]
    stack: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def server(self) -> Server:
        """The PostgreSQL server."""
        return self.stack.enter_context(postgresql())

    @cached_property
    def postgresql(self) -> PostgresqlDatabase:
        """The database that duerow and the floor take turns on."""
        return PostgresqlDatabase(self.server, "bench")

    @cached_property
    def templates(self) -> Templates:
        """A fresh database of the server for each run of a contestant."""
        return Templates(self.server)

    @cached_property
    def sqlite(self) -> SqliteDatabase:
        """The file that duerow and the floor take turns on."""
        return SqliteDatabase(self.folder)

    @cached_property
    def mariadb(self) -> MariadbDatabase:
        """The database of a MariaDB server, or the one that DUEROW_TEST_MARIADB_URL names."""
        from tests.servers.mariadb import running

        return MariadbDatabase(self.stack.enter_context(running(durable=True)))

    @cached_property
    def folder(self) -> Path:
        """A folder for files, removed at the end."""
        return Path(self.stack.enter_context(TemporaryDirectory(prefix="duerow-bench-")))


Scenario = Callable[[Context], list[Result]]
