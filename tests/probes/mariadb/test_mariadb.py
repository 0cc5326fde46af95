"""What MariaDB alone has to show: which index it uses, what it locks, and what becomes of its victims."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from duerow.plan import Plan, run
from tests.probes.contract import Clock, Committed, Entry, Moved, Queue, Refused, RolledBack, Turn
from tests.probes.interruption import interrupted
from tests.probes.mariadb import statements
from tests.probes.mariadb.connection import MariaDBConnection, connect, prepare
from tests.probes.mariadb.plans import MariaDB
from tests.probes.mariadb.statements import Answer, Statement

MINUTE = timedelta(minutes=1)


@pytest.fixture
def url(mariadb_url: str) -> str:
    prepare(mariadb_url)
    return mariadb_url


@pytest.fixture
def connection(url: str) -> Iterator[MariaDBConnection]:
    connection = MariaDBConnection(url)
    yield connection
    connection.close()


@pytest.fixture
def queue(connection: MariaDBConnection) -> Queue:
    return Queue(MariaDB(Clock()), connection, "first")


def explain(connection: MariaDBConnection, statement: Statement) -> list[dict[str, Any]]:
    answer = connection.execute(Statement(f"EXPLAIN {statement.text}", statement.values))
    assert answer is not None
    return answer.rows


@pytest.fixture
def crowded(queue: Queue, connection: MariaDBConnection) -> Queue:
    """Three queues of 200 messages each, half of them due later."""
    later = Clock().now() + MINUTE
    for name in ("orders", "billing", "sms"):
        for due in (None, later):
            queue.push(*(Entry(name, "1", f"{due}-{number}", due) for number in range(100)))
    connection.execute(Statement("ANALYZE TABLE duerow_message"))
    return queue


@pytest.mark.parametrize("limit", [1, 100])
def test_the_claim_reads_the_line_by_its_index_and_sorts_nothing(
    crowded: Queue, connection: MariaDBConnection, limit: int
) -> None:
    [row] = explain(connection, statements.next_in_line("orders", limit, Clock().now()))
    assert (row["key"], row["type"]) == ("line", "range")
    assert "filesort" not in row["Extra"]


def test_the_claim_reads_no_more_of_the_line_than_it_hands_out(crowded: Queue, connection: MariaDBConnection) -> None:
    connection.execute(Statement("FLUSH STATUS"))
    assert len(crowded.reserve(20)) == 20
    answer = connection.execute(Statement("SHOW SESSION STATUS LIKE 'Handler_read_next'"))
    assert answer is not None
    assert int(answer.rows[0]["Value"]) < 20


def test_settling_reads_by_primary_key_and_keys_by_their_own_index(
    crowded: Queue, connection: MariaDBConnection
) -> None:
    held = crowded.reserve(20)
    locked = explain(connection, statements.lock([each.receipt for each in held], None))
    keys = explain(connection, statements.lock_keys([("billing", each.key or "") for each in held]))
    written = explain(connection, statements.write([(each, None) for each in held]))
    assert {row["key"] for row in locked} == {"PRIMARY"}
    assert {row["key"] for row in keys} == {"live_key"}
    assert [row["key"] for row in written if row["table"] == "message"] == ["PRIMARY"]
    assert not any("filesort" in (row["Extra"] or "") for row in locked + keys + written)


def test_a_claim_steps_over_rows_that_another_transaction_has_locked(queue: Queue, url: str) -> None:
    ids = [each.id for each in queue.push(*(Entry("orders", "1") for _ in range(10)))]
    with connect(url) as other, other.cursor() as cursor:
        other.begin()
        step = statements.next_in_line("orders", 4, Clock().now())
        assert cursor.execute(step.text, step.values) == 4
        assert [record.id for record in queue.reserve(4)] == ids[4:8]
        other.rollback()
    assert [record.id for record in queue.reserve(10)] == ids[:4] + ids[8:]


def test_a_deadlock_victim_starts_its_plan_anew(queue: Queue, connection: MariaDBConnection, url: str) -> None:
    queue.push(*(Entry("orders", "1") for _ in range(2)))
    first, second = queue.reserve(2)
    refused: list[list[Refused]] = []
    with connect(url) as rival, rival.cursor() as cursor:
        rival.begin()
        # The one that has written less is the victim: the rival writes more, and holds the second row.
        for id in range(1_000, 1_050):
            step = statements.create_or_lock([(id, Entry("sms", "1"))], None)
            cursor.execute(step.text, step.values)
        cursor.execute("UPDATE duerow_message SET attempts = attempts + 1 WHERE id = %s", (second.id,))
        settling = threading.Thread(
            target=lambda: refused.append(queue.settle((first, Committed()), (second, RolledBack(MINUTE, "no"))))
        )
        connection.tries = 0
        settling.start()
        wait_until_locked(url)
        cursor.execute("UPDATE duerow_message SET attempts = attempts + 1 WHERE id = %s", (first.id,))
        rival.commit()
        settling.join(30)
    assert connection.tries == 2
    assert refused == [[]]
    assert [record.status for record in queue.find()] == ["error"]


def writes(step: object) -> bool:
    return isinstance(step, Statement) and step.text.startswith("UPDATE")


def wait_until_locked(url: str) -> None:
    """Return once a transaction waits for a lock."""
    with connect(url) as watch, watch.cursor() as cursor:
        while not cursor.execute("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"):
            time.sleep(0.01)


def test_a_key_pushed_between_a_moves_look_and_its_write_is_seen_at_the_second_try(
    queue: Queue, connection: MariaDBConnection, url: str
) -> None:
    queue.push(Entry("orders", "1", "k"))
    [held] = queue.reserve()
    rival = Queue(MariaDB(Clock()), MariaDBConnection(url), "rival")
    turns = [Turn(held.receipt, Moved("billing"))]
    looks = 0

    def settle_with_a_rival() -> Plan[list[Refused]]:
        nonlocal looks
        looks += 1
        plan = queue.store.settle(turns)
        push = partial(rival.push, Entry("billing", "rival", "k"))
        return interrupted(plan, writes, push) if looks == 1 else plan

    assert connection.carry_out(settle_with_a_rival) == [Refused(held.receipt, "duplicate key")]
    assert looks == 2
    assert [record.payload for record in queue.find("billing")] == ["rival"]
    assert queue.settle((held, Committed())) == []
    rival.connection.close()


def test_row_counts_depend_on_the_connection_so_that_no_plan_reads_them(url: str) -> None:
    """The reason why an answer has rows and no count: the same no-change, counted in two ways."""
    counts = []
    for found_rows in (0, 2):
        with connect(url, client_flag=found_rows) as raw, raw.cursor() as cursor:
            step = statements.create_or_lock([(1, Entry("orders", "1", "k"))], None)
            cursor.execute(step.text, step.values)
            counts.append(cursor.execute("UPDATE duerow_message SET attempts = 0 WHERE id = 1"))
    assert counts == [0, 1]


def test_within_a_callers_transaction_a_plan_begins_and_ends_nothing(queue: Queue, url: str) -> None:
    with connect(url) as caller, caller.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")

        def execute(step: Any) -> Answer | None:
            if not isinstance(step, Statement):
                return None
            cursor.execute(step.text, step.values)
            return Answer(list(cursor.fetchall()))

        caller.begin()
        run(queue.store.push([Entry("orders", "1", "k")], "ignore"), execute)
        assert queue.find() == []
        caller.rollback()
        assert queue.find() == []
        caller.begin()
        run(queue.store.push([Entry("orders", "1", "k")], "ignore"), execute)
        caller.commit()
    assert [record.key for record in queue.find()] == ["k"]
