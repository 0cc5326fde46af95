"""How plans that push use statements and transactions, and what they tell the claims of their process."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Queue
from duerow.errors import DuplicateKey, QueueDraining
from duerow.message import OnDuplicate, Pushed
from duerow.plan import BEGIN, Plan, Several, run
from duerow.store import Committed, Entry, Turn
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import Step
from duerow.testing.clock import MovableClock
from duerow.testing.contents import payloads

CLOCK = MovableClock()
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def store() -> SqlStore:
    """A store for a database in which several transactions write at once."""
    return SqlStore(PostgreSQL(), "duerow_", None, CLOCK)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[duerow.Database]:
    """A database whose statements have at most two rows, and which takes chunks with keys."""
    monkeypatch.setattr(SQLite, "chunk", 2)
    monkeypatch.setattr(SQLite, "sends_ahead", True)
    with duerow.connect(f"sqlite:///{tmp_path / 'mail.db'}", migrate=True, clock=CLOCK) as database:
        yield database


@pytest.fixture
def queue(database: duerow.Database) -> Queue:
    return database.queue("mail")


def entry(payload: object = 1, **values: Any) -> Entry:
    """Return an entry of the queue "mail"."""
    unset: dict[str, Any] = dict.fromkeys(("key", "headers", "due", "delay"))
    return Entry(**{"queue": "mail", "kind": "json", "payload": str(payload), **unset, **values})


def steps(plan: Plan[Any], answer: object) -> list[Any]:
    """Return all steps of a plan to which the database always gives the same answer."""
    taken: list[Any] = []
    while True:
        try:
            taken.append(plan.send(answer if taken else None))
        except StopIteration:
            return taken


@pytest.mark.parametrize(
    ("one", "on_duplicate"),
    [(entry(), "reject"), (entry(), "replace"), (entry(), "ignore"), (entry(key="k"), "ignore")],
)
def test_one_message_is_pushed_by_one_statement(store: SqlStore, one: Entry, on_duplicate: OnDuplicate) -> None:
    assert len(steps(store.messages.push([one], on_duplicate), [(1,)])) == 1


@pytest.mark.parametrize(
    ("entries", "on_duplicate", "remembered"),
    [
        ([entry(), entry()], "ignore", False),
        ([entry(key="k")], "reject", False),
        ([entry(key="k")], "ignore", True),
    ],
)
def test_a_push_that_takes_several_statements_is_one_transaction(
    store: SqlStore, entries: list[Entry], on_duplicate: OnDuplicate, remembered: bool
) -> None:
    assert next(store.messages.push(entries, on_duplicate, remembered)) is BEGIN


def test_a_queue_that_was_found_open_is_not_asked_again_whether_it_drains(store: SqlStore) -> None:
    def kinds() -> list[type]:
        taken = steps(store.messages.push([entry(), entry()], "ignore"), [])
        return [type(step) for step in taken if step is not BEGIN]

    assert kinds() == [Step, Several]
    assert kinds() == [Several]


# What claims of the same process are told.


@pytest.mark.parametrize("entries", [[entry(due=NOON - SECOND)], [entry(due=NOON + SECOND), entry(due=NOON - SECOND)]])
@pytest.mark.parametrize("key", [None, "k"])
def test_a_claim_looks_where_its_process_pushed_a_message_that_is_due_earlier(
    store: SqlStore, entries: list[Entry], key: str | None
) -> None:
    floors = store.context.floors
    floors.claimed("mail", floors.start("mail"), oldest=NOON, newest=NOON + SECOND)
    push(store, [entry(due=one.due, key=key and f"{key}-{place}") for place, one in enumerate(entries)])
    assert floors.start("mail").due_at is None


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"priority": 3}, PriorityLine(3, False)),
        ({"group": "g"}, PriorityLine(0, True)),
        ({"group": "g", "priority": 3}, PriorityLine(3, True)),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_claim_knows_the_priorities_that_its_process_pushes(
    store: SqlStore, values: dict[str, Any], line: PriorityLine, count: int
) -> None:
    push(store, [entry(**values)] * count)
    assert store.context.priorities.of("mail") == sorted({PriorityLine(0, False), line})


def test_a_claim_learns_no_priority_from_a_message_without_one(store: SqlStore) -> None:
    push(store, [entry(), entry()])
    assert store.context.priorities.of("mail") == []


def push(store: SqlStore, entries: list[Entry]) -> None:
    """Carry out a push of which the database returns nothing, as far as it goes."""
    store.context.drain_cache.found_open("mail")
    plan = store.messages.push(entries, "ignore")
    step = next(plan)
    if step is BEGIN:
        step = plan.send(None)
    if isinstance(step, Several):
        list(step.steps)


# On a database.


def test_messages_that_a_turn_pushes_go_even_to_a_draining_queue(database: duerow.Database, queue: Queue) -> None:
    queue.push(1)
    [lease] = queue.reserve_many(1)
    queue.drain(wait=False)
    with pytest.raises(QueueDraining):
        queue.push(2)
    turns = [Turn(lease.receipt, Committed(then=(entry(3),)))]
    assert database.run(lambda: database.store.messages.settle(turns)) == []
    assert payloads(queue) == [3]


def test_a_push_with_a_name_happens_once(database: duerow.Database, queue: Queue) -> None:
    def pushed(name: str, *entries: Entry) -> list[Pushed]:
        return database.run(lambda: database.store.messages.push(entries, "ignore", False, name))

    assert [one.outcome for one in pushed("first", entry(1), entry(2))] == ["created", "created"]
    assert pushed("first", entry(1), entry(2)) == []
    assert pushed("second") == []
    assert pushed("second", entry(3)) == []
    assert [one.outcome for one in pushed("third", entry(4))] == ["created"]
    assert payloads(queue) == [1, 2, 4]


def test_a_push_with_a_name_is_refused_by_a_draining_queue(database: duerow.Database, queue: Queue) -> None:
    queue.drain(wait=False)
    with pytest.raises(QueueDraining):
        database.run(lambda: database.store.messages.push([entry(1)], "ignore", False, "once"))


@pytest.mark.parametrize("mode", ["ignore", "reject", "replace", "earliest"])
def test_more_messages_with_keys_than_one_statement_takes_are_all_pushed_in_order(
    queue: Queue, mode: OnDuplicate
) -> None:
    drafts = [duerow.Draft(number, key=str(number)) for number in range(5)]
    pushed = queue.push_many(drafts, on_duplicate=mode)
    assert [one.outcome for one in pushed] == ["created"] * 5
    assert [one.id for one in pushed] == [message.id for message in queue.find()]
    assert payloads(queue) == [0, 1, 2, 3, 4]


def test_messages_of_one_group_in_several_statements_are_handed_out_in_order(queue: Queue) -> None:
    queue.push_many([duerow.Draft(number, group="g") for number in range(5)])
    handed = []
    while lease := queue.reserve():
        assert queue.reserve() is None
        handed.append(lease.message.payload)
        queue.commit(lease)
    assert handed == [0, 1, 2, 3, 4]


def test_a_push_in_chunks_may_be_made_in_a_thread(store: SqlStore) -> None:
    several = steps(store.messages.push_chunks("mail", [[entry(1)], [entry(2)]]), [])[-1]
    assert isinstance(several, Several)
    assert several.slow


def test_a_push_with_keys_in_chunks_is_answered_in_order(database: duerow.Database, queue: Queue) -> None:
    queue.push("holder", key="c", delay=SECOND)
    keys = ["a", None, "b", "a", "c", "b", "d"]

    def pushed() -> Plan[list[Pushed]]:
        return database.store.messages.push_keyed_chunks(  # type: ignore[attr-defined, no-any-return]
            "mail", keys, lambda places: [entry(place, key=keys[place]) for place in places]
        )

    answers = database.run(pushed)
    outcomes = ["created", "created", "created", "ignored", "ignored", "ignored", "created"]
    assert [one.outcome for one in answers] == outcomes
    ids = {message.key: message.id for message in queue.find()}
    assert [one.id for one in answers] == [answers[1].id if key is None else ids[key] for key in keys]
    assert payloads(queue) == ["holder", 0, 1, 2, 6]


def test_a_message_whose_key_became_free_during_a_push_in_chunks_is_created(store: SqlStore) -> None:
    store.context.drain_cache.found_open("mail")
    keys, encoded = ["a", "b", "b"], list[int]()

    def encode(places: Sequence[int]) -> list[Entry]:
        encoded.extend(places)
        return [entry(place, key=keys[place], priority=place) for place in places]

    inserted = iter([[(1,)], [(2,)], []])

    def answer(step: Any) -> Any:
        if isinstance(step, Several):
            assert step.slow
            return [answer(one) for one in step.steps]
        values = step.values if isinstance(step, Step) else {}
        if "count" in values:
            return [(1,), (2,), (3,)]
        if "given_payload" in values:
            return next(inserted)
        looked_up = "given_key" in values and encoded == [0, 1, 2, 1, 2]  # before that, the holder has left
        return [("mail", "b", 2)] if looked_up else []

    plan = store.messages.push_keyed_chunks("mail", keys, encode)
    assert run(plan, answer) == [Pushed(1, "created"), Pushed(2, "created"), Pushed(2, "ignored")]
    assert PriorityLine(2, False) in store.context.priorities.of("mail")


def test_the_payloads_of_one_statement_have_at_most_so_many_characters(store: SqlStore) -> None:
    store.context.dialect.chunk_bytes = 10
    store.context.drain_cache.found_open("mail")

    def keyless(size: int) -> int:
        several = steps(store.messages.push([entry("1" * size)] * 2, "ignore"), [])[-1]
        return len(list(several.steps))

    def keyed(size: int) -> int:
        plan = store.messages.push([entry("1" * size, key=key) for key in "ab"], "ignore")
        answers: list[Any] = [None, None, [(1,), (2,)], [(1,)], [(2,)], []]
        taken = [plan.send(answer) for answer in answers[:4]]
        return sum("given_payload" in step.values for step in taken if isinstance(step, Step))

    assert keyless(6) == keyless(5) + 1
    assert (keyed(6), keyed(5)) == (2, 1)


@pytest.mark.parametrize("remembered", [False, True])
def test_a_key_that_another_writer_takes_meanwhile_is_named_and_nothing_is_pushed(
    store: SqlStore, remembered: bool
) -> None:
    store.context.drain_cache.found_open("mail")
    plan = store.messages.push([entry(key="a"), entry(key="b")], "reject", remembered)
    deleted: list[object] = []

    def answer(step: Any) -> Any:
        values = step.values if isinstance(step, Step) else {}
        deleted.extend([values["given_id"]] if "given_token" in values else [])
        return [(1,), (2,)] if "count" in values else [(1,)] if "given_payload" in values else []

    with pytest.raises(DuplicateKey) as caught:
        run(plan, answer)
    assert deleted == [1]
    assert (caught.value.queue, caught.value.keys, caught.value.remembered) == ("mail", ("b",), remembered)
