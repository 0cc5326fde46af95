"""A run's access to an SQL database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    bindparam,
    column,
    create_engine,
    delete,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    table,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from duerow.errors import StoreUnavailable
from duerow.store import Settings, find_backend
from duerow.testing.torture.access import APPLICATION, BEGUN, SIGNS, is_of_another
from duerow.testing.torture.own_table import item

SYNCHRONOUS: Final = "NORMAL"
"""How SQLite waits for the disk: processes are killed, but the power is not cut."""

CONNECTING: Final = 5
"""Seconds after which an unanswered connection attempt counts as refused."""

MESSAGE: Final = ("id", "queue", "status", "payload", "headers", "group", "leased_by", "token")
ITEM: Final = (
    "record",
    "handled",
    *(f"working_{part}" for part in ("status", "due_at", "leased_by", "attempts", "token")),
)
TURN: Final = ("id", "token", "queue", "outcome", "attempts", "worker", "finished_at")

FINDING: Final = text(
    "SELECT pid FROM pg_stat_activity WHERE application_name = :name "
    "AND pid <> pg_backend_pid() ORDER BY (state = 'idle'), random() LIMIT 1"
)
"""Finds a connection of the run's processes in PostgreSQL."""


class SqlAccess:
    """See `Access`.

    Args:
        url, prefix, serializable: as for `access`.
    """

    def __init__(self, url: str, prefix: str, serializable: bool) -> None:
        self._url, self._prefix, self._serializable = url, prefix, serializable
        self._url_read: URL = make_url(url)
        self._engines: list[Engine] = []
        self.table = _ledger(prefix)
        self._message = table(f"{prefix}message", *map(column, MESSAGE))
        self._history = table(f"{prefix}history", *map(column, TURN))
        same = (
            self._message.c.id == bindparam("of"),
            self._message.c.token == bindparam("its"),
            self._message.c.leased_by.isnot(None),
        )
        self._item = item(prefix).__table__
        self._plain = insert(self.table)
        self._asking = insert(self.table).values(held=select(func.count()).where(*same).scalar_subquery())

    @cached_property
    def callers(self) -> Engine:
        """The engine for transactions that are passed to `within=`."""
        return self._engine("SERIALIZABLE" if self._serializable else None)

    @cached_property
    def engine(self) -> Engine:
        """The engine for the ledger and the verdict, at a level without conflicts, whatever the server's default is."""
        return self._engine(self._level)

    @property
    def is_file(self) -> bool:
        """See Access."""
        return self._url_read.get_backend_name() == "sqlite"

    def check(self) -> None:
        """See Access."""
        find_backend(self._url).aopen(self._url, Settings(prefix=self._prefix))
        try:
            self.engine.connect().close()
        except DBAPIError as error:
            raise StoreUnavailable(f"cannot connect to the database: {error.orig}") from error

    def address(self) -> tuple[str, int] | None:
        """See Access."""
        located = self._url_read
        port = located.port or (5432 if located.get_backend_name() == "postgresql" else None)
        return (located.host, port) if located.host and port else None

    def behind(self, port: int) -> str:
        """See Access."""
        return self._url_read.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """See Access."""
        with self.callers.begin() as connection:
            yield connection

    def write(self, rows: Sequence[Mapping[str, Any]], within: Any = None) -> None:
        """See Access."""
        self._write(self._plain, rows, within)

    async def awrite(self, rows: Sequence[Mapping[str, Any]], within: Any) -> None:
        """See Access."""
        await within.execute(self._plain, rows)

    def ask(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """See Access."""
        self._write(self._asking, [{**row, "of": row["message"], "its": row["token"]} for row in rows], None)

    def lines(self) -> list[dict[str, Any]]:
        """See Access."""
        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(select(self.table).order_by(self.table.c.seq)).mappings()]

    def begun(self) -> Mapping[int, int]:
        """See Access."""
        process = self.table.c.process
        counted = select(process, func.count()).where(self.table.c.what.in_(BEGUN)).group_by(process)
        return {number: count for number, count in self._read(counted)}

    def made(self) -> list[tuple[int, str]]:
        """See Access."""
        noted = table(f"{self._prefix}schema", column("version"), column("name"))
        return [(number, name) for number, name in self._read(select(noted).order_by(noted.c.version))]

    def waiting(self, queues: Collection[str]) -> int:
        """See Access."""
        message = self._message
        there = message.c.queue.in_(queues), message.c.status.in_(("new", "error"))
        return int(self._read(select(func.count()).select_from(message).where(*there))[0][0])

    @property
    def writes_wait(self) -> bool:
        """See Access."""
        return True

    @property
    def has_items(self) -> bool:
        """See Access."""
        return True

    def awaited_engine(self) -> Any:
        """See Access."""
        from sqlalchemy.ext.asyncio import create_async_engine

        url, arguments = self._connecting(self._driving.awaited)
        engine = create_async_engine(url, connect_args=arguments, isolation_level=self._level)
        _prepare(engine.sync_engine)
        return engine

    def waiting_items(self) -> int:
        """See Access."""
        columns = self._item.c
        query = select(func.count()).where(
            columns.working_status.in_(("new", "error")), columns.working_due_at.isnot(None)
        )
        return int(self._read(query)[0][0])

    def items(self) -> list[Sequence[Any]]:
        """See Access."""
        return self._read(select(*(self._item.c[name] for name in ITEM)).order_by(self._item.c.id))

    def messages(self) -> list[Sequence[Any]]:
        """See Access."""
        return [row[:-1] for row in self._read(select(self._message))]

    def turns(self) -> list[Sequence[Any]]:
        """See Access."""
        return self._read(select(self._history))

    def create(self) -> None:
        """See Access."""
        self.table.create(self.engine)
        self._item.create(self.engine)

    @contextmanager
    def at_version(self, version: int) -> Iterator[None]:
        """See Access; each migration so far has only created tables."""
        before = set(inspect(self.engine).get_table_names())
        yield
        self._drop(but=before)
        migration = table(f"{self._prefix}schema", column("version"))
        with self.engine.begin() as connection:
            connection.execute(delete(migration).where(migration.c.version > version))

    def drop(self) -> None:
        """See Access."""
        self._drop()

    def prefixes(self) -> Iterator[str]:
        """See Access."""
        looking = inspect(self.engine)
        system = ("pg_", "information_schema")
        several = self.engine.dialect.name == "postgresql"  # in other databases, a schema is a separate database
        schemas = [one for one in looking.get_schema_names() if not one.startswith(system)] if several else [None]
        for schema in schemas:
            names = set(looking.get_table_names(schema))
            for prefix in {name.removesuffix(SIGNS[0]) for name in names if name.endswith(SIGNS[0])}:
                if is_of_another(prefix, names):
                    yield f"{schema}.{prefix}" if schema else prefix

    def answers(self) -> bool:
        """See Access."""
        self.close()
        with suppress(DBAPIError):
            self._read(select(1))
            return True
        return False

    @property
    def has_limit(self) -> bool:
        """See Access."""
        return not self.is_file

    def open_connection(self) -> Any:
        """See Access."""
        dialect = self.engine.dialect
        arguments, options = dialect.create_connect_args(self.engine.url)
        try:
            return dialect.connect(*arguments, **{**options, "connect_timeout": CONNECTING})
        except dialect.loaded_dbapi.Error:  # psycopg does not say which of its errors this is
            return None

    def close_connection(self, connection: Any) -> None:
        """See Access."""
        with suppress(self.engine.dialect.loaded_dbapi.Error):
            connection.close()

    def end_connection(self) -> bool:
        """See Access."""
        if self.engine.dialect.name != "postgresql":
            return False
        with self.engine.begin() as connection:
            pid = connection.execute(FINDING, {"name": APPLICATION}).scalar()
            if pid is not None:
                connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
            return pid is not None

    def close(self) -> None:
        """See Access."""
        for engine in self._engines:
            engine.dispose()

    def _drop(self, but: Collection[str] = ()) -> None:
        found = MetaData()
        found.reflect(self.engine, only=lambda name, _: name.startswith(self._prefix) and name not in but)
        found.drop_all(self.engine)

    def _engine(self, level: str | None) -> Engine:
        """Return an engine for the application, whose connections have an isolation level from the start."""
        url, arguments = self._connecting(self._driving.blocking)
        engine = create_engine(url, poolclass=QueuePool, connect_args=arguments, max_overflow=30, isolation_level=level)
        _prepare(engine)
        self._engines.append(engine)
        return engine

    @property
    def _level(self) -> str | None:
        """The isolation level without conflicts; None: the database has only one level."""
        return None if self.is_file else "READ COMMITTED"

    @property
    def _driving(self) -> Any:
        return find_backend(self._url).driving  # type: ignore[attr-defined]

    def _connecting(self, driver: str) -> tuple[URL, dict[str, Any]]:
        """Return the URL for a driver, and the arguments of its connections."""
        located = self._url_read
        arguments: dict[str, Any] = {"timeout": 60} if self.is_file else {}
        if located.query.get("prepare_threshold") == "none":  # as behind a pooler
            arguments["prepare_threshold"] = None
        return located.difference_update_query(self._driving.settings).set(drivername=driver), arguments

    def _write(self, statement: Any, rows: Sequence[Mapping[str, Any]], within: Any) -> None:
        if within is not None:
            within.execute(statement, rows)
            return
        with self.engine.begin() as connection:
            connection.execute(statement, rows)

    def _read(self, query: Select[Any]) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(query).all())


def _prepare(engine: Engine) -> None:
    """Let SQLite wait less for the disk."""
    if engine.dialect.name == "sqlite":

        def relax(connection: Any, _: Any) -> None:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            cursor.close()

        event.listen(engine, "connect", relax)


def _ledger(prefix: str) -> Table:
    """Return the table of the ledger."""
    return Table(
        f"{prefix}ledger",
        MetaData(),
        Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
        Column("what", String(20)),
        Column("act", String(40)),
        Column("queue", String(100)),
        Column("message", BigInteger),
        Column("token", BigInteger),
        Column("group", String(100)),
        Column("since", BigInteger),
        Column("note", String(200)),
        Column("process", Integer),
        Column("at", BigInteger),
        Column("held", Integer),
    )
