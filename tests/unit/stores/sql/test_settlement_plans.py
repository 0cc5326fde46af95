"""How plans that end turns use statements and transactions, and what they tell the claims of their process."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Commit, Draft, Move, Queue, Reservation
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Closed,
    Committed,
    End,
    Entry,
    Joined,
    Moved,
    Released,
    Retention,
    RolledBack,
    Turn,
)
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import Step
from duerow.testing.clock import MovableClock, hours
from duerow.testing.contents import payloads

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
CLOCK = MovableClock(NOON)
SECOND = timedelta(seconds=1)


@pytest.fixture
def store() -> SqlStore:
    """A store for a database in which several transactions write at once, with the smallest chunks that matter."""
    store = SqlStore(PostgreSQL(), "duerow_", None, CLOCK)
    store.context.dialect.chunk = 2
    store.context.dialect.chunk_bytes = 10
    return store


def moved(**values: Any) -> Moved:
    """Return a move to "billing" that changes nothing but the queue."""
    unchanged: dict[str, Any] = dict.fromkeys(("payload", "kind", "key", "headers", "due", "delay"))
    return Moved(**{"to": "billing", "on_duplicate": "reject", **unchanged, **values})


def turns(*ends: End, group: tuple[str, str] | None = None) -> list[Turn]:
    """Return turns of messages 1, 2, 3, …"""
    return [Turn(Receipt(id, 7), end, group) for id, end in enumerate(ends, 1)]


ENTRY = Entry("mail", None, "json", "1", None, None, None)
BACK = RolledBack(SECOND, None)
JOINED = Joined("sets", "c", SECOND, 9, BACK)


@pytest.mark.parametrize(
    "ended",
    [
        turns(Committed(), Committed()),
        turns(BACK, BACK),
        turns(Buried(None)),
        turns(Released(None)),
        turns(moved(), moved()),
        turns(RolledBack(SECOND, "e" * 10)),
        turns(moved(payload="p" * 8, headers="hh")),
    ],
    ids=repr,
)
def test_turns_that_one_statement_ends_need_no_transaction(store: SqlStore, ended: list[Turn]) -> None:
    assert next(store.messages.settle(ended)) is not BEGIN


@pytest.mark.parametrize(
    "ended",
    [
        turns(Committed(), Committed(), Committed()),
        turns(BACK, BACK, BACK),
        turns(BACK, Committed()),
        turns(BACK, group=("mail", "g")),
        turns(JOINED),
        turns(Closed("sets", "c", None)),
        turns(moved(key="k")),
        turns(Committed(then=(ENTRY,))),
        turns(Buried(None, then=(ENTRY,))),
        turns(BACK, RolledBack(SECOND, "e" * 11)),
        turns(moved(payload="p" * 9, headers="hh")),
    ],
    ids=repr,
)
def test_turns_that_take_several_statements_end_in_one_transaction(store: SqlStore, ended: list[Turn]) -> None:
    assert next(store.messages.settle(ended)) is BEGIN


def test_turns_that_history_keeps_end_in_the_transaction_that_keeps_them(store: SqlStore) -> None:
    assert next(store.messages.settle(turns(BACK), Retention(history=hours(1)))) is BEGIN


def test_leases_that_one_statement_extends_need_no_transaction(store: SqlStore) -> None:
    assert next(store.messages.extend([Receipt(1, 1), Receipt(2, 1)], SECOND)) is not BEGIN


def test_leases_that_take_several_statements_are_extended_in_one_transaction(store: SqlStore) -> None:
    assert next(store.messages.extend([Receipt(1, 1), Receipt(2, 1), Receipt(3, 1)], SECOND)) is BEGIN


def steps(plan: Plan[Any]) -> list[Any]:
    """Return all steps of a plan to which the database answers with no rows."""
    taken: list[Any] = []
    while True:
        try:
            taken.append(plan.send([] if taken else None))
        except StopIteration:
            return taken


@pytest.mark.parametrize(
    ("end", "most"),
    [
        (RolledBack(SECOND, "e" * 6), 1),
        (Buried("e" * 6), 1),
        (moved(payload="p" * 6), 1),
        (moved(payload="p" * 3, headers="h" * 3), 1),
        (Released(None), 2),
        (Committed(payload="p" * 6), 2),
        (RolledBack(SECOND, "e" * 5), 2),
    ],
    ids=repr,
)
def test_a_statement_has_at_most_so_many_characters_of_payloads_and_errors(
    store: SqlStore, end: End, most: int
) -> None:
    taken = steps(store.messages.settle(turns(end, end, group=("mail", "g"))))
    ended = [step.values["given_id"] for step in taken if isinstance(step, Step) and "given_token" in step.values]
    assert ended == ([1, 2] if most == 1 else ["{1,2}"])


@pytest.mark.parametrize("ends", [(BACK, RolledBack(2 * SECOND, None)), (moved(payload="1"), moved(payload="2"))])
def test_rows_are_locked_in_the_order_of_their_ids(store: SqlStore, ends: Sequence[End]) -> None:
    step = next(store.messages.settle([Turn(Receipt(9, 7), ends[0]), Turn(Receipt(3, 7), ends[1])]))
    assert step.values["given_id"] == "{3,9}"


# What claims of the same process are told.


@pytest.mark.parametrize("end", [moved(due=NOON - SECOND), Released(NOON - SECOND), Released(None)], ids=repr)
def test_a_claim_looks_where_a_turn_of_its_process_put_a_message_that_is_due_earlier(store: SqlStore, end: End) -> None:
    floors = store.context.floors
    floors.claimed("billing", floors.start("billing"), oldest=NOON, newest=NOON + SECOND)
    next(store.messages.settle(turns(end)))
    assert floors.start("billing").due_at is None


@pytest.mark.parametrize("end", [moved(due=NOON + SECOND), Released(NOON + SECOND)], ids=repr)
def test_a_claim_looks_no_lower_for_a_message_that_is_due_later(store: SqlStore, end: End) -> None:
    floors = store.context.floors
    floors.claimed("billing", floors.start("billing"), oldest=NOON, newest=NOON + SECOND)
    next(store.messages.settle(turns(end)))
    assert floors.start("billing").due_at == NOON


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ({}, []),
        ({"priority": 3}, [PriorityLine(0, False), PriorityLine(3, False)]),
        ({"group": "g"}, [PriorityLine(0, False), PriorityLine(0, True)]),
        ({"group": "g", "priority": 3}, [PriorityLine(0, False), PriorityLine(3, True)]),
    ],
)
def test_a_claim_knows_the_priorities_to_which_its_process_moves_messages(
    store: SqlStore, values: dict[str, Any], lines: list[PriorityLine]
) -> None:
    next(store.messages.settle(turns(moved(**values))))
    assert store.context.priorities.of("billing") == sorted(lines)


# Statements with few rows, on a database.


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[duerow.Database]:
    """A database whose statements have at most two rows and 200 characters, and whose moves hold keys."""
    for name, value in {"chunk": 2, "chunk_bytes": 200, "writes_alone": False}.items():
        monkeypatch.setattr(SQLite, name, value)
    with duerow.connect(f"sqlite:///{tmp_path / 'mail.db'}", migrate=True, clock=CLOCK) as database:
        yield database


@pytest.fixture
def queue(database: duerow.Database) -> Queue:
    """A queue with a handle on this database."""
    return database.queue("mail")


def lend(queue: Queue, count: int) -> list[Reservation]:
    """Lend new messages 1, 2, 3, … with keys."""
    queue.push_many([Draft(number, key=str(number)) for number in range(1, count + 1)])
    return queue.reserve_many(count)


def test_more_commits_than_one_statement_takes_are_refused_in_the_order_of_the_call(queue: Queue) -> None:
    leases = lend(queue, 6)
    lost = [leases[4], leases[1], leases[3]]
    assert queue.settle([(one, Commit()) for one in lost]) == []
    order = [leases[place] for place in (5, 4, 3, 2, 1, 0)]
    refused = queue.settle([(one, Commit()) for one in order])
    assert [one.receipt.id for one in refused] == [leases[place].message.id for place in (4, 3, 1)]
    assert queue.count() == 0


def test_more_extensions_than_one_statement_takes_all_count(queue: Queue) -> None:
    leases = lend(queue, 5)
    assert queue.extend_many(leases, hours(1)) == []
    assert {one.leased_until for one in queue.find()} == {CLOCK.now() + hours(1)}


def test_a_move_takes_a_free_key_in_a_database_that_lets_others_write(database: duerow.Database, queue: Queue) -> None:
    leases = lend(queue, 5)
    assert queue.settle([(one, Move("billing", key=f"new-{one.message.payload}")) for one in leases]) == []
    found = database.queue("billing").find()
    assert [(one.payload, one.key) for one in found] == [(number, f"new-{number}") for number in range(1, 6)]
    assert queue.count() == 0


def test_of_moves_to_one_key_the_first_message_gets_it_in_a_database_that_lets_others_write(
    database: duerow.Database, queue: Queue
) -> None:
    first, second = lend(queue, 2)
    refused = queue.settle([(second, Move("billing", key="k")), (first, Move("billing", key="k"))])
    assert [one.receipt.id for one in refused] == [second.message.id]
    assert payloads(database.queue("billing")) == [1]
