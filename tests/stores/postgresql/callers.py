"""How an application may hold a transaction on PostgreSQL: three drivers, three isolation levels, odd settings."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import psycopg2
import psycopg2.extras
from psycopg.rows import class_row, dict_row, namedtuple_row, scalar_row

from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import AwaitedFace, Face
from tests.stores.callers import Opening, Transaction, Way, async_connection, async_session, connection, session

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]

ODD_SETTINGS = """
SET TIME ZONE 'Asia/Kathmandu'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard';
SET search_path = pg_catalog; SET standard_conforming_strings = on; SET extra_float_digits = 0;
SET plan_cache_mode = force_generic_plan; SET enable_indexscan = off; SET bytea_output = 'escape'
"""


def raw(begin: str | None = None, settings: str = "", **options: Any) -> Opening:
    """A connection of psycopg."""

    @contextmanager
    def opening(place: Place, face: Face) -> Iterator[Transaction]:
        with closing(psycopg.connect(place.url, **options)) as own:
            prepare(own, settings)
            if begin is not None:
                own.execute(begin)
            yield Transaction(own, own.commit, own.rollback)

    return opening


def prepare(own: psycopg.Connection[Any], settings: str) -> None:
    """Set what the application sets once for its connection."""
    for setting in filter(None, map(str.strip, settings.split(";"))):
        own.execute(setting)
    if settings and not own.autocommit:
        own.commit()


@contextmanager
def block(place: Place, face: Face) -> Iterator[Transaction]:
    """psycopg's own transaction block, on a connection that commits by itself."""
    with closing(psycopg.connect(place.url, autocommit=True)) as own:
        transaction = own.transaction()
        transaction.__enter__()
        abandoned = psycopg.Rollback(transaction)
        yield Transaction(
            own,
            lambda: transaction.__exit__(None, None, None),
            lambda: transaction.__exit__(psycopg.Rollback, abandoned, None),
        )


def raw2(begin: str | None = None, **options: Any) -> Opening:
    """A connection of psycopg2."""

    @contextmanager
    def opening(place: Place, face: Face) -> Iterator[Transaction]:
        autocommit = options.pop("autocommit", False) if "autocommit" in options else False
        with closing(psycopg2.connect(place.url, **options)) as own:
            own.autocommit = begin is not None or autocommit
            if begin is None:
                yield Transaction(own, own.commit, own.rollback)
                return
            with own.cursor() as cursor:
                cursor.execute(begin)
                yield Transaction(own, lambda: cursor.execute("COMMIT"), lambda: cursor.execute("ROLLBACK"))

    return opening


def awaited(begin: str | None = None, **options: Any) -> Opening:
    """An AsyncConnection of psycopg."""

    @contextmanager
    def opening(place: Place, face: AwaitedFace) -> Iterator[Transaction]:
        own = face.run(psycopg.AsyncConnection.connect(place.url, **options))
        try:
            if begin is not None:
                face.run(own.execute(begin))
            yield Transaction(own, lambda: face.run(own.commit()), lambda: face.run(own.rollback()))
        finally:
            face.run(own.close())

    return opening


class Anything:
    """A row that takes any columns and cannot be read by place."""

    def __init__(self, **columns: Any) -> None:
        self.columns = columns


WAYS = [
    *(
        Way(f"{driver} {level.lower()}", "sync", connection(f"postgresql+{driver}", isolation_level=level))
        for driver in ("psycopg", "psycopg2")
        for level in LEVELS
    ),
    Way("session on psycopg", "sync", session("postgresql+psycopg")),
    Way("session on psycopg2", "sync", session("postgresql+psycopg2", isolation_level="SERIALIZABLE")),
    Way("raw", "sync", raw()),
    Way("raw begun by hand", "sync", raw("BEGIN ISOLATION LEVEL REPEATABLE READ", autocommit=True)),
    Way("raw transaction block", "sync", block),
    Way("raw with odd settings", "sync", raw(settings=ODD_SETTINGS)),
    Way("raw with rows by name", "sync", raw(row_factory=dict_row)),
    Way("raw with rows as objects", "sync", raw(row_factory=class_row(Anything))),
    Way("raw with named tuples", "sync", raw(row_factory=namedtuple_row)),
    Way("raw with first columns", "sync", raw(row_factory=scalar_row)),
    Way("raw bound by the client", "sync", raw(cursor_factory=psycopg.ClientCursor)),
    Way("raw always prepared", "sync", raw(prepare_threshold=0)),
    Way("raw never prepared", "sync", raw(prepare_threshold=None)),
    Way("raw psycopg2", "sync", raw2()),
    Way("raw psycopg2 begun by hand", "sync", raw2("BEGIN")),
    Way("raw psycopg2 with rows by name", "sync", raw2(cursor_factory=psycopg2.extras.RealDictCursor)),
    *(
        Way(f"{driver} {level.lower()}", "async", async_connection(f"postgresql+{driver}", isolation_level=level))
        for driver in ("psycopg_async", "asyncpg")
        for level in LEVELS
    ),
    Way("session on psycopg", "async", async_session("postgresql+psycopg_async")),
    Way("session on asyncpg", "async", async_session("postgresql+asyncpg")),
    Way("raw", "async", awaited()),
    Way("raw begun by hand", "async", awaited("BEGIN", autocommit=True)),
    Way("raw with rows by name", "async", awaited(row_factory=dict_row)),
]
