"""Workers that run long in one process keep to what they took at first: for DUEROW_SOAK_SECONDS, or ten minutes."""

import gc
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from psycopg._preparing import PrepareManager
from sqlalchemy import Engine, text

import duerow
from duerow.testing.conformance.fixtures import Place
from duerow.testing.worker_harness import Workshop
from tests.growth import SAMPLES, Sample, growing

SECONDS = float(os.environ.get("DUEROW_SOAK_SECONDS", "600"))
BATCH = 100
WAITING = 400
"""Messages that wait, from which on no more are pushed."""


async def handler(message: duerow.Message) -> Any:
    """Succeed mostly; fail, move on and give up now and then."""
    ends = {3: duerow.Move("done", key=None, group=None), 4: duerow.Bury("by design")}
    if message.payload % 10 == 5 and message.attempts == 1:
        raise ValueError("the first time")
    return ends.get(message.payload % 10)


def push(queue: duerow.Queue, first: int) -> None:
    """Push messages of every kind: keyed ones, groups, delayed ones."""
    queue.push_many(
        [
            duerow.Draft(
                number,
                key=f"k-{number % 50}" if number % 3 == 0 else None,
                group=f"g-{number % 7}" if number % 2 else None,
                delay=timedelta(milliseconds=20 * (number % 3)),
            )
            for number in range(first, first + BATCH)
        ]
    )


def tidy(database: duerow.Database) -> None:
    """Do what an operator, and autovacuum, do now and then."""
    while database.queue("done").pop_many(1_000):
        pass
    database.queue("mail").remove(where="status = 'dead'")
    engine = engine_of(database)
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM"))


def engine_of(database: duerow.Database) -> Engine:
    engine: Engine = database.connections.engine  # type: ignore[attr-defined]
    return engine


def sample(database: duerow.Database) -> Sample:
    """Measure this process and the database."""
    gc.collect()
    process = psutil.Process()
    with process.oneshot():
        found = {
            "memory": float(process.memory_info().rss),
            "descriptors": process.num_fds(),
            "threads": process.num_threads(),
            "prepared": sum(len(one._names) for one in gc.get_objects() if isinstance(one, PrepareManager)),
        }
    engine = engine_of(database)
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            pages = connection.execute(text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
            return {**found, "tables": float(pages.scalar_one())}
        mine = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        found["connections"] = connection.execute(mine).scalar_one()
        for kind, size in (("tables", "pg_table_size"), ("indexes", "pg_indexes_size")):
            sized = text(f"SELECT sum({size}(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE '%message'")
            found[kind] = float(connection.execute(sized).scalar_one())
    return found


@pytest.fixture
def workshops(place: Place) -> Iterator[list[Workshop]]:
    """One for each face, on the same queue."""
    with ExitStack() as opened:
        yield [opened.enter_context(closing(Workshop(kind, place.url, place.settings))) for kind in ("sync", "async")]


@pytest.fixture
def silent() -> Iterator[None]:
    """Nothing is logged: pytest would keep it, which grows."""
    logger = logging.getLogger("duerow")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    yield
    logger.setLevel(before)


@pytest.mark.soak
@pytest.mark.usefixtures("silent")
@pytest.mark.timeout(SECONDS + 600)
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_workers_of_a_long_run_take_no_more_at_its_end_than_at_its_beginning(workshops: list[Workshop]):
    database = workshops[0].db
    mail, pushed, samples = database.queue("mail"), 0, list[Sample]()
    terms: dict[str, Any] = {"queue": {"retry": duerow.limited(3, duerow.fixed(timedelta(milliseconds=10)))}}
    for workshop in workshops:
        workshop.start(handler, concurrency=3, batch=20, **terms)
    began = time.monotonic()
    for number in range(SAMPLES):
        until = began + (number + 1) * SECONDS / SAMPLES
        while True:  # at least once, on however busy a machine
            if mail.count("status in ('new', 'error')") < WAITING:
                push(mail, pushed)
                pushed += BATCH
            if time.monotonic() >= until:
                break
            time.sleep(0.01)
        tidy(database)
        samples.append(sample(database))
        print(
            f"{time.monotonic() - began:7.0f} s, {pushed} pushed", {name: int(one) for name, one in samples[-1].items()}
        )
    assert growing(samples) == {}


def test_tidying_empties_the_queue_of_moved_messages_even_if_they_are_in_a_group(tmp_path: Path):
    with duerow.connect(f"sqlite:///{tmp_path}/mail.db", migrate=True) as database:
        done = database.queue("done")
        done.push_many(duerow.Draft(number, group="g") for number in range(3))
        tidy(database)
        assert done.count() == 0
