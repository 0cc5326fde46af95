"""What MongoDB alone has to show: how many commands a verb takes, its index, and what happens between commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from bson import Int64
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure

from duerow.plan import run
from tests.probes.contract import Clock, Committed, DuplicateKey, Entry, Moved, Pushed, Queue, Refused, Turn
from tests.probes.interruption import interrupted
from tests.probes.mongodb import commands
from tests.probes.mongodb.commands import Command
from tests.probes.mongodb.connection import MongoDBConnection, prepare
from tests.probes.mongodb.documents import COUNTERS, MESSAGES
from tests.probes.mongodb.plans import MongoDB

MINUTE = timedelta(minutes=1)


@pytest.fixture
def connection(mongodb_url: str) -> Iterator[MongoDBConnection]:
    prepare(mongodb_url)
    connection = MongoDBConnection(mongodb_url)
    yield connection
    connection.close()


@pytest.fixture
def queue(connection: MongoDBConnection, clock: Clock) -> Queue:
    return Queue(MongoDB(connection.raw.name, clock), connection, "first")


def named(name: str) -> Callable[[Command], bool]:
    return lambda step: next(iter(step.document)) == name


def changes_a_message(step: Command) -> bool:
    return step.document.get("findAndModify") == MESSAGES


def sent(connection: MongoDBConnection) -> list[str]:
    """The names of the commands since the last look."""
    names = [next(iter(command.document)) for command in connection.trace]
    connection.trace.clear()
    return names


def test_each_verb_takes_a_fixed_number_of_commands_whatever_the_size_of_the_batch(
    queue: Queue, connection: MongoDBConnection
) -> None:
    queue.push(*(Entry("orders", "1") for _ in range(100)))
    assert sent(connection) == ["findAndModify", "insert"]
    queue.push(*(Entry("orders", "1", f"k{number}") for number in range(100)))
    assert sent(connection) == ["findAndModify", "update"]
    [one] = queue.reserve()
    assert sent(connection) == ["findAndModify"]
    many = queue.reserve(100)
    assert sent(connection) == ["find", "update", "find"]
    queue.extend(many, MINUTE)
    assert sent(connection) == ["update", "find"]
    queue.settle(*((each, Moved("billing")) for each in [one, *many]))
    assert sent(connection) == ["bulkWrite"]
    queue.pop()
    assert sent(connection) == ["findAndModify"]
    queue.pop(50)
    assert sent(connection) == ["find", "update", "find", "bulkWrite"]


def test_the_claim_is_found_by_the_index_of_the_line(queue: Queue, connection: MongoDBConnection) -> None:
    queue.push(*(Entry(name, "1") for name in ("orders", "billing") for _ in range(50)))
    step = commands.pick("orders", Clock().now(), 5)
    explained = connection.raw.command({"explain": dict(step.document), "verbosity": "executionStats"})
    assert "'indexName': 'line'" in str(explained["queryPlanner"]["winningPlan"])
    assert explained["executionStats"]["totalKeysExamined"] <= 50


def test_without_a_clock_of_the_tests_the_servers_time_is_asked_for_once_a_minute(
    connection: MongoDBConnection,
) -> None:
    queue = Queue(MongoDB(connection.raw.name), connection, "first")
    queue.push(Entry("orders", "1"))
    assert sent(connection) == ["hello", "findAndModify", "insert"]
    assert len(queue.reserve()) == 1
    assert sent(connection) == ["findAndModify"]


def test_what_another_lends_between_pick_and_lend_is_left_to_it(
    queue: Queue, connection: MongoDBConnection, clock: Clock
) -> None:
    ids = [each.id for each in queue.push(*(Entry("orders", "1") for _ in range(10)))]
    other = Queue(queue.store, connection, "second")
    stolen: list[int] = []

    def steal() -> None:
        if not stolen:
            stolen.extend(record.id for record in other.reserve(3))

    plan = queue.store.reserve("orders", 5, MINUTE, None, "first/1")
    reserved = connection.carry_out(lambda: interrupted(plan, named("update"), steal))
    assert stolen == ids[:3]
    assert [record.id for record in reserved.records] == ids[3:8]


def test_what_was_moved_between_pick_and_lend_is_not_lent_from_its_old_queue(
    queue: Queue, connection: MongoDBConnection
) -> None:
    queue.push(Entry("orders", "1"))
    messages = connection.raw[MESSAGES]
    plan = queue.store.reserve("orders", 5, MINUTE, None, "first/1")
    move = {"$set": {"queue": "billing"}}
    reserved = connection.carry_out(lambda: interrupted(plan, named("update"), lambda: messages.update_one({}, move)))
    assert reserved.records == []
    assert [record.attempts for record in queue.find("billing")] == [0]


def test_a_key_that_is_freed_between_upsert_and_look_is_pushed_after_all(
    queue: Queue, connection: MongoDBConnection
) -> None:
    [first] = queue.push(Entry("orders", "1", "k"))
    [held] = queue.reserve()
    plan = queue.store.push([Entry("orders", "2", "k")], "ignore")
    answers = connection.carry_out(lambda: interrupted(plan, named("find"), lambda: queue.settle((held, Committed()))))
    assert [each.outcome for each in answers] == ["created"]
    assert answers[0].id != first.id
    assert [record.payload for record in queue.find()] == ["2"]


def test_a_message_lent_between_look_and_replace_is_replaced_all_the_same(
    queue: Queue, connection: MongoDBConnection
) -> None:
    """The replacing write matches the token that was read; when it has grown, it is read again."""
    [first] = queue.push(Entry("orders", "1", "k"))
    held: list[Any] = []

    def lend() -> None:
        held.extend(queue.reserve())

    plan = queue.store.push([Entry("orders", "2", "k")], "replace")
    replaced = connection.carry_out(lambda: interrupted(plan, changes_a_message, lend))
    assert replaced == [Pushed(first.id, "updated")]
    assert queue.settle((held[0], Committed())) == [Refused(held[0].receipt, "lease lost")]
    assert [record.payload for record in queue.find()] == ["2"]


def test_reject_takes_back_what_it_wrote_when_a_key_appears_after_the_look(
    queue: Queue, connection: MongoDBConnection
) -> None:
    plan = queue.store.push([Entry("orders", "1"), Entry("orders", "2", "k")], "reject")
    with pytest.raises(DuplicateKey):
        connection.carry_out(
            lambda: interrupted(plan, named("findAndModify"), lambda: queue.push(Entry("orders", "rival", "k")))
        )
    assert [record.payload for record in queue.find()] == ["rival"]


def test_a_batch_larger_than_a_command_may_be_goes_in_several(queue: Queue, connection: MongoDBConnection) -> None:
    megabyte = '"' + "x" * (1 << 20) + '"'
    answers = queue.push(*(Entry("orders", megabyte, f"k{number}") for number in range(20)))
    assert [each.outcome for each in answers] == ["created"] * 20
    assert sent(connection) == ["findAndModify", "update", "update", "update"]
    held = queue.reserve(20)
    assert [len(each.payload) for each in held] == [len(megabyte)] * 20
    assert queue.settle(*((each, Moved("billing", megabyte)) for each in held)) == []
    assert len(queue.find("billing")) == 20


def test_moments_are_kept_as_64_bit_integers(queue: Queue, connection: MongoDBConnection) -> None:
    queue.push(Entry("orders", "1"))
    queue.reserve()
    document = connection.raw[MESSAGES].find_one()
    assert document is not None
    for name in ("_id", "token", "due_at", "first_due_at", "leased_until", "place"):
        assert isinstance(document[name], Int64), name


def test_within_a_callers_transaction_only_the_ids_are_taken_outside(
    queue: Queue, connection: MongoDBConnection
) -> None:
    """Two open transactions push at once; were the counter theirs, the second would be aborted."""
    messages, counters = connection.raw[MESSAGES], connection.raw[COUNTERS]
    client = connection.raw.client

    def push_within(session: ClientSession, key: str) -> list[Pushed]:
        def execute(step: Command) -> Any:
            return connection.raw.command(dict(step.document), session=None if step.outside else session)

        return run(queue.store.push([Entry("orders", "1", key)], "ignore"), execute)

    with client.start_session() as first, client.start_session() as second:
        first.start_transaction()
        second.start_transaction()
        answers = push_within(first, "a") + push_within(second, "b")
        assert messages.count_documents({}) == 0
        first.abort_transaction()
        second.commit_transaction()
    assert [each.id for each in answers] == [1, 2]
    assert [record.key for record in queue.find()] == ["b"]
    assert counters.find_one() == {"_id": "message", "last": 2}


def test_within_a_transaction_a_taken_key_ends_all_of_it(queue: Queue, connection: MongoDBConnection) -> None:
    """Why settling catches a taken key only where there are no transactions, and must look first where there are."""
    queue.push(Entry("orders", "1", "k"), Entry("billing", "0", "k"), Entry("orders", "2"))
    taken, free = queue.reserve(2)
    with connection.raw.client.start_session() as session:
        session.start_transaction()
        for held in (free, taken):
            move = commands.settle_one(Turn(held.receipt, Moved("billing")), Clock().now())
            reply = connection.raw.command(dict(move.document), session=session)
        assert reply["writeErrors"][0]["code"] == 11000
        with pytest.raises(OperationFailure) as refusal:
            session.commit_transaction()
    assert refusal.value.has_error_label("TransientTransactionError") or refusal.value.code == 251
    assert {record.payload for record in queue.find("billing")} == {"0"}
