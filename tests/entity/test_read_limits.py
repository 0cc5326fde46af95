"""What people read of a table's rows ends when it takes longer than `read_timeout`, by what the database has for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import ColumnElement, Engine, func, literal_column, select, text
from sqlalchemy.ext.asyncio import create_async_engine

from duerow.aio.entity import EntityQueue as AwaitedEntityQueue
from duerow.entity import EntityQueue
from duerow.errors import ConfigurationError, QueryTimeout
from tests.entity.models import Mail

LIMIT = timedelta(seconds=7)

ENDLESS = "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n) > 0"

TOLD: dict[str, ColumnElement[bool]] = {
    "postgresql": func.current_setting("statement_timeout") == "7s",
    "mariadb": literal_column("@@max_statement_time") == 7,
}
"""What holds while a read may take 7 s, on databases that can tell."""


@contextmanager
def locked(engine: Engine, store: str) -> Iterator[None]:
    """Keep readers waiting."""
    with closing(engine.connect()) as connection:
        exclusive = "LOCK TABLE mail IN ACCESS EXCLUSIVE MODE" if store == "postgresql" else "LOCK TABLES mail WRITE"
        connection.execute(text(exclusive))
        yield
        connection.rollback()
        if store == "mariadb":
            connection.execute(text("UNLOCK TABLES"))


def test_a_read_is_told_its_limit_and_what_comes_after_it_is_not(
    store: str, open_queue: Any, add: Any, own_engine: Any
) -> None:
    if store not in TOLD:
        return  # it is ended by its driver, as the next test shows
    ids = add(1, 2)
    queue = open_queue(read_timeout=LIMIT)
    for _ in range(2):
        assert [row.id for row in queue.find(TOLD[store])] == ids
        assert queue.count(TOLD[store]) == 2
        assert queue.count(TOLD[store], by=Mail.sending_status) == {"new": 2}
        assert queue.reschedule(TOLD[store], delay=timedelta(0)).count == 0
    assert open_queue(read_timeout=None).count(TOLD[store]) == 0


def test_a_read_that_never_ends_is_ended(store: str, open_queue: Any, add: Any, engine: Engine) -> None:
    ids = add(1, 2)
    queue = open_queue(read_timeout=timedelta(milliseconds=20))
    if store != "mariadb":  # which ends a recursion by itself
        for read in (queue.find, queue.count):
            with pytest.raises(QueryTimeout, match=r"0\.02 s.*read_timeout"):
                read(text(ENDLESS))
    if store in TOLD:
        for look in (queue.find, queue.count, queue.stats):
            with locked(engine, store), pytest.raises(QueryTimeout):
                look()
    assert [row.id for row in open_queue().find()] == ids
    assert open_queue().stats().ready == 2


def test_so_it_is_where_the_engine_commits_each_statement(store: str, add: Any, engine: Engine) -> None:
    if store not in TOLD:
        return
    add(1, 2)
    own = engine.execution_options(isolation_level="AUTOCOMMIT")
    assert EntityQueue(Mail.sending, own, read_timeout=LIMIT).count(TOLD[store]) == 2
    with own.connect() as connection:
        assert connection.scalar(select(TOLD[store])) in (False, 0)


async def test_so_it_is_on_asyncpg(add: Any, engine: Engine, store: str) -> None:
    if store != "postgresql":
        return
    add(1, 2)
    for options in ({}, {"isolation_level": "AUTOCOMMIT"}):
        own = create_async_engine(engine.url.set(drivername="postgresql+asyncpg"), **options)
        assert await AwaitedEntityQueue(Mail.sending, own, read_timeout=LIMIT).count(TOLD[store]) == 2
        await own.dispose()


def test_a_limit_that_no_database_can_keep_is_refused(open_queue: Any) -> None:
    with pytest.raises(ConfigurationError, match="read_timeout= must be a timedelta of 1 ms"):
        open_queue(read_timeout=30)
