"""PostgreSQL plans a prepared statement once for all values, whatever waits in other queues."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial

import psycopg
import pytest

import duerow
from duerow import Commit, Database, Draft, Move, Release, Rollback, Worker
from duerow.settlement import Settlement
from duerow.store.consumer_id import new_claim

ROWS = 100_000
"""Messages that wait in another queue, so that PostgreSQL expects far fewer in a small one than in any."""

ROUNDS = 30

TRIED = 5
"""How many times PostgreSQL plans a prepared statement before it decides whether to go on doing so."""


@pytest.fixture
def database(postgresql_url: str) -> Iterator[Database]:
    """Small queues in tables with a large one."""
    schema = f"planned_{uuid.uuid4().hex[:12]}"
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as server:
        if server.info.server_version < 140_000:
            pytest.skip("PostgreSQL counts plans since version 14")
        with duerow.connect(postgresql_url, migrate=True, schema=schema) as database:
            database.queue("small").push_many([Draft(number) for number in range(50)])
            server.execute(
                f"INSERT INTO {schema}.duerow_message (queue, kind, payload, priority, status, attempts, token, due_at,"
                " place_at, first_due_at, created_at, key) SELECT 'large', 'json', '1', n % 3, 'new', 0, 0, now(),"
                f" now(), now(), now(), 'k' || n FROM generate_series(1, {ROWS}) AS n".encode()
            )
            server.execute(f"VACUUM ANALYZE {schema}.duerow_message".encode())
            yield database
        server.execute(f"DROP SCHEMA {schema} CASCADE".encode())


def test_no_statement_of_producers_and_workers_is_planned_anew_each_time(database: Database) -> None:
    for number in range(ROUNDS):
        work(database, number)
    planned = {text: custom for text, custom, generic in prepared(database) if custom + generic > 2 * TRIED}
    assert any("SKIP LOCKED" in text for text in planned)
    assert any("DELETE" in text for text in planned)
    assert [text for text, custom in planned.items() if custom > TRIED] == []


def work(database: Database, number: int) -> None:
    """Push to small queues in many ways, and end turns in many ways."""
    day = timedelta(days=1)
    queue, kept = database.queue("small"), database.queue("kept", history=day, remember_keys=day, dead_letter="dead")
    queue.push(1)
    queue.push(2, key=f"key {number}")
    queue.push(3, group=f"group {number % 5}")
    queue.push(4, priority=number % 3)
    queue.push_many([Draft(1), Draft(2), Draft(3, key=f"another {number}")])
    queue.push_many([Draft(1, key=f"key {number}"), Draft(2, key=f"third {number}")], on_duplicate="replace")
    ends: list[Settlement] = [Commit(), Rollback(delay=timedelta(0)), Move("next"), Release(), Commit()]
    queue.settle(list(zip(queue.reserve_many(len(ends)), ends, strict=True)))
    few = queue.reserve_many(3)
    queue.extend_many(few)
    queue.commit_many(few)
    queue.pop_many(1)
    kept.push_many([Draft(1, key=f"one {number}"), Draft(2, key=f"two {number}")])
    for reservation in kept.reserve_many(1):
        kept.commit(reservation)
    for reservation in kept.reserve_many(1):
        kept.bury(reservation, "no")
    messages, second = database.store.messages, timedelta(seconds=1)
    database.run(lambda: messages.next_due(["small", "next"], second, {}, True))
    database.run(lambda: messages.next_due(["small"], second, {}, True))
    for kinds in (["json"], ["json", "bytes", "other"]):
        database.run(partial(messages.reserve, "small", 1, second, None, new_claim(), kinds=kinds))
    Worker(database.queue("next"), lambda message: None, batch=1, concurrency=1).run(until="idle")


def prepared(database: Database) -> list[tuple[str, int, int]]:
    """Return the statements that duerow's connection has prepared, and how often each was planned in either way."""
    with database.connections.open() as execute:
        cursor = execute.raw.execute(  # type: ignore[attr-defined]
            "SELECT statement, custom_plans, generic_plans FROM pg_prepared_statements", prepare=False
        )
        return list(cursor)
