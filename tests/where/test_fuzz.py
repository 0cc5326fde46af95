"""Whatever is written as a condition: an answer equal to the reference's, or a clear error; never one of SQL's."""

from __future__ import annotations

import faulthandler
import os
import random
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

import duerow
from duerow.errors import InvalidCondition
from duerow.testing.clock import MovableClock, minutes
from duerow.testing.contents import everything
from tests.where.texts import drafts, text

MESSAGES = 40


@pytest.fixture
def schema(postgresql_url: str) -> Iterator[str]:
    """A schema of this test's own, so that ids begin with 1 as in the other stores."""
    name = f"fuzz_{uuid.uuid4().hex[:12]}"
    yield name
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@pytest.fixture
def queues(tmp_path: Path, postgresql_url: str, schema: str) -> Iterator[list[duerow.Queue]]:
    """The same messages in three stores, of which the first is the reference."""
    clock = MovableClock()
    places = [("memory://", None), (f"sqlite:///{tmp_path}/queues.db", None), (postgresql_url, schema)]
    with ExitStack() as opened:
        databases = [
            opened.enter_context(duerow.connect(url, clock=clock, migrate=True, schema=within))
            for url, within in places
        ]
        queues = [database.queue("mail") for database in databases]
        for queue in queues:
            queue.push_many(drafts(random.Random(1), MESSAGES))
        clock.advance(minutes(30))
        for queue in queues:
            for n, reservation in enumerate(queue.reserve_many(9)):
                if n < 3:
                    queue.bury(reservation, "no use")
                elif n < 6:
                    queue.rollback(reservation, delay=minutes(n))
        yield queues


def fuzz(queues: list[duerow.Queue], number: int, seed: int) -> tuple[int, int]:
    """Ask for random texts; return how many were conditions, and how many of those some messages and not all fit."""
    chance = random.Random(seed)
    before = [everything(queue.database) for queue in queues]
    assert [record.id for record in before[1]] == [record.id for record in before[2]] == [one.id for one in before[0]]
    valid = some = 0
    for _ in range(number):
        asked = text(chance)
        answers: list[list[int] | type[InvalidCondition]] = []
        for queue in queues:
            try:
                answers.append([message.id for message in queue.find(asked, limit=1_000)])
            except InvalidCondition as error:
                answers.append(type(error))
        assert answers[1:] == answers[:1] * 2, f"{asked!r}: {answers}"
        if isinstance(answers[0], list):
            valid += 1
            some += 0 < len(answers[0]) < MESSAGES
    assert [everything(queue.database) for queue in queues] == before
    return valid, some


def test_random_texts_are_answered_alike_by_every_store_or_refused(queues: list[duerow.Queue]) -> None:
    valid, some = fuzz(queues, 100, 1)
    assert valid >= 50
    assert some >= 100 / 3


@pytest.mark.soak
@pytest.mark.timeout(14_400)
def test_a_hundred_thousand_random_texts_are_answered_alike_by_every_store_or_refused(
    queues: list[duerow.Queue],
) -> None:
    """Their number by DUEROW_SOAK_TEXTS; DUEROW_SEED repeats a run, whose seed is printed."""
    faulthandler.cancel_dump_traceback_later()  # to look into a thread that runs can end the process
    number = int(os.environ.get("DUEROW_SOAK_TEXTS", "100000"))
    seed = int(os.environ.get("DUEROW_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"DUEROW_SEED={seed}")
    valid, some = fuzz(queues, number, seed)
    print(f"{number:,} texts, {valid:,} of them conditions, {some:,} of which fit some messages and not all")
    assert valid >= number / 2
    assert some >= number / 3
