"""What others do between two commands of a plan, how many commands a verb takes, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pymongo
import pytest
from bson import Int64

import duerow
from duerow import Database, Draft, Queue
from duerow.errors import Conflict, StoreUnavailable
from duerow.plan import Plan
from duerow.stores.mongodb.steps import Command, Together
from duerow.testing.clock import MovableClock, minutes
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.contents import payloads
from duerow.testing.faces import BlockingFace, Face
from tests.stores.mongodb.interruption import interrupted

Act = Callable[[], object]


@pytest.fixture
def face() -> Face:
    """The blocking one: what is done between two steps of a plan could not run inside of a loop."""
    return BlockingFace()


@pytest.fixture
def other_handle(open_database: OpenDatabase) -> Queue:
    """Another process, as it were."""
    return open_database().queue("mail")


def plans_of(db: Database, name: str) -> Any:
    """Return what has the plan of this name: the messages, or those that push them."""
    messages: Any = db.store.messages
    return messages.push.__self__ if name.startswith("_push") else messages


@contextmanager
def meddled(db: Database, verb: str, before: Callable[[Any], bool], act: Act) -> Iterator[None]:
    """Have something done once, before the first step of a verb of which something holds."""
    plans = plans_of(db, verb)
    plan, done = getattr(plans, verb), [False]

    def once() -> None:
        if not done[0]:
            done[0] = True
            act()

    def meddling(*args: Any, **named: Any) -> Plan[Any]:
        return interrupted(plan(*args, **named), before, once)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, verb, meddling)
        yield
    assert done[0], f"no step of {verb} was met"


def sends(name: str, collection: str = "duerow_message") -> Callable[[Any], bool]:
    return lambda step: isinstance(step, Command) and step.document.get(name) == collection


def test_what_another_lends_between_pick_and_lend_is_left_to_it(
    db: Database, queue: Queue, other_handle: Queue
) -> None:
    queue.push_many([Draft(number) for number in range(10)])
    stolen: list[Any] = []
    with meddled(db, "reserve", sends("update"), lambda: stolen.extend(other_handle.reserve_many(3))):
        mine = queue.reserve_many(5)
    assert [one.message.payload for one in stolen] == [0, 1, 2]
    assert [one.message.payload for one in mine] == [3, 4, 5, 6, 7]


def test_what_was_changed_between_pick_and_lend_is_lent_as_it_is_now_or_not_at_all(
    db: Database, queue: Queue, other_handle: Queue
) -> None:
    ids = [one.id for one in queue.push_many([Draft("moved"), Draft("edited"), Draft("delayed"), Draft("removed")])]

    def change() -> None:
        (first,) = other_handle.reserve_many(1)
        first.move("billing")
        other_handle.edit(ids[1], payload="new")
        other_handle.reschedule(ids[2], delay=minutes(1))
        other_handle.remove(ids[3])

    with meddled(db, "reserve", sends("update"), change):
        assert [one.message.payload for one in queue.reserve_many(5)] == ["new"]


def test_a_claim_with_the_name_of_an_earlier_one_leaves_to_it_what_that_one_extends_meanwhile(
    db: Database, queue: Queue, other_handle: Queue, clock: MovableClock
) -> None:
    queue.push("long")
    (held,) = other_handle.reserve_many(1, consumer="here:1:spark/abc")
    clock.advance(minutes(2))  # its lease has ended
    with meddled(db, "reserve", sends("update"), lambda: held.extend(minutes(5))):
        assert queue.reserve_many(1, consumer="here:1:spark/abc") == []
    held.commit()


def test_what_a_transaction_of_the_callers_has_taken_is_left_out_by_claims(
    queue: Queue, client: pymongo.MongoClient[dict[str, Any]], clock: MovableClock
) -> None:
    queue.push_many([Draft(number) for number in range(4)])
    assert queue.reserve() is not None
    clock.advance(minutes(2))  # its lease has ended, and it stands in line with the others
    with client.start_session() as session:
        session.start_transaction()
        taken = queue.pop_many(2, within=session)
        assert [one.payload for one in taken] == [1, 2]
        assert [one.message.payload for one in queue.reserve_many(9)] == [3, 0]
        session.abort_transaction()
    assert [one.message.payload for one in queue.reserve_many(9)] == [1, 2]


def test_of_a_group_one_is_lent_however_two_consumers_meet(db: Database, queue: Queue, other_handle: Queue) -> None:
    queue.push_many([Draft(number, group="g") for number in range(3)])
    for taking in (other_handle.reserve, lambda: other_handle.pop()):
        with meddled(db, "reserve", sends("update"), taking):
            mine = queue.reserve_many(3)
        theirs = [one for one in queue.find() if one.leased_by is not None]
        assert len(mine) + len([one for one in theirs if one.id not in {each.message.id for each in mine}]) <= 1
        for one in mine:
            one.release()
        queue.remove(where="leased_by is not null", even_if_leased=True)


def test_a_key_that_appears_between_look_and_write_is_met_after_all(
    db: Database, queue: Queue, other_handle: Queue
) -> None:
    with meddled(db, "_push_together", sends("insert"), lambda: other_handle.push("rival", key="k")):
        answers = queue.push_many([Draft("free"), Draft("mine", key="k")])
    assert [one.outcome for one in answers] == ["created", "ignored"]
    assert sorted(payloads(queue)) == ["free", "rival"]


def losing(db: Database, name: str, lost: Callable[[int], bool]) -> pytest.MonkeyPatch:
    """Have a step's transaction lose against others, told by its number."""
    plans = plans_of(db, name)
    plan, numbers = getattr(plans, name), count(1)

    def meddling(*args: Any, **named: Any) -> Plan[Any]:
        if lost(next(numbers)):
            raise Conflict("another one was faster")
        return (yield from plan(*args, **named))

    patch = pytest.MonkeyPatch()
    patch.setattr(plans, name, meddling)
    return patch


def test_a_batch_that_loses_again_and_again_is_pushed_message_by_message_and_once(
    db: Database, queue: Queue, place: Place
) -> None:
    drafts = [Draft("free"), Draft("keyed", key="k"), Draft("again", key="k"), Draft("last")]
    patch = losing(db, "_push_together", lambda number: number <= 3)
    assert [one.outcome for one in queue.push_many(drafts)] == ["created", "created", "ignored", "created"]
    assert payloads(queue) == ["free", "keyed", "last"]
    patch.undo()
    patch = losing(db, "_push_together", lambda number: number <= 3 or number > 5)
    with pytest.raises(StoreUnavailable, match="2 of 4 were pushed") as lost:
        queue.push_many([Draft("one"), Draft("two", key="2"), Draft("three", key="3"), Draft("four")])
    patch.undo()
    assert (lost.value.outcome, type(lost.value)) == ("unknown", StoreUnavailable)
    assert payloads(queue)[3:] == ["one", "two"]


def test_a_lease_that_is_extended_between_look_and_settlement_is_settled(
    db: Database, queue: Queue, clock: MovableClock
) -> None:
    queue.push("hello")
    mine = queue.reserve()
    assert mine is not None
    with meddled(db, "settle", sends("delete"), lambda: queue.extend(mine)):
        queue.commit(mine)
    assert queue.count() == 0


def test_who_waits_for_another_of_its_group_is_met_once_and_called_up_by_its_end(
    queue: Queue, other_handle: Queue, place: Place, client: pymongo.MongoClient[dict[str, Any]]
) -> None:
    messages = client[place.settings["schema"]]["duerow_message"]
    for number in range(4):  # each by itself, so that all of them stand in line
        queue.push(number, group="g")
    first = queue.reserve()
    assert first is not None
    assert messages.count_documents({"line_at": {"$exists": True}}) == 4
    assert queue.reserve_many(9) == []
    assert messages.count_documents({"line_at": {"$exists": True}}) == 1
    first.release()
    order = [other_handle.pop().payload for _ in range(2)]  # type: ignore[union-attr]
    queue.remove(where="payload = 2")
    assert [*order, queue.pop().payload] == [0, 1, 3]  # type: ignore[union-attr]


def test_whoever_leaves_while_another_is_put_behind_it_leaves_nobody_behind(
    db: Database, queue: Queue, other_handle: Queue
) -> None:
    for number in range(2):
        queue.push(number, group="g")
    first = other_handle.reserve()
    assert first is not None
    with meddled(db, "reserve", lambda step: isinstance(step, Together), first.commit):
        queue.reserve()
    second = queue.reserve()
    assert second is not None or [one.payload for one in queue.find("leased_by is not null")] == [1]


def traced(db: Database) -> list[str]:
    """The names of the commands that are sent from now on, while the list lives."""
    sent: list[str] = []
    opened = db.connections.open

    @contextmanager
    def opening() -> Iterator[Any]:
        with opened() as execute:

            def execute_noted(step: Any) -> Any:
                sent.append(step.name if isinstance(step, Command) else type(step).__name__)
                return execute(step)

            yield execute_noted

    db.connections.open = opening  # type: ignore[method-assign]
    return sent


def test_each_verb_takes_a_fixed_number_of_commands_whatever_the_size_of_the_batch(
    place: Place, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.stores.mongodb.plans.context.SAID_GOOD_FOR", 600.0)
    # On a busy machine, 50 messages can take longer than a claim waits for locks; it then leases them one by one.
    monkeypatch.setattr("duerow.stores.mongodb.plans.reserve.LOCK_WAIT", 600_000)
    with duerow.connect(place.url, clock=clock, **place.settings) as db:
        queue = db.queue("mail")
        queue.push("first")  # from here on it is known that the queue takes messages
        queue.reserve()
        sent = traced(db)

        def commands(act: Callable[[], Any]) -> list[str]:
            sent.clear()
            act()
            return list(sent)

        for size in (5, 50):
            assert commands(lambda size=size: queue.push_many([Draft(1) for _ in range(size)])) == [
                "Transaction",
                "findAndModify",
                "insert",
            ]
            lent: list[Any] = []
            assert commands(lambda size=size, lent=lent: lent.extend(queue.reserve_many(size))) == [
                "find",
                "find",
                "update",
                "find",
            ]
            assert commands(lambda lent=lent: queue.extend_many(lent)) == ["update", "find"]
            assert commands(lambda lent=lent: queue.commit_many(lent)) == ["Transaction", "find", "delete"]
        assert commands(lambda: queue.push("one")) == ["findAndModify", "insert"]


def test_what_is_not_said_is_not_there_and_numbers_are_of_64_bits(
    queue: Queue, place: Place, client: pymongo.MongoClient[dict[str, Any]]
) -> None:
    queue.push({"a.b": {"$c": [5]}, "": 1}, headers={"x": 1})
    queue.reserve()
    [kept] = client[place.settings["schema"]]["duerow_message"].find()
    for name in ("_id", "token", "due_at", "line_at", "first_due_at", "leased_until", "place", "created_at"):
        assert isinstance(kept[name], Int64), name
    assert kept["fields"] == {"a%2Eb": {"%24c": {"%list": True}}, "%": 1}
    assert kept["labels"] == {"x": 1}
    assert not kept.keys() & {"key", "live_key", "group", "line_group", "lent_group", "last_error"}


def test_conditions_see_what_a_changed_payload_says_now(queue: Queue) -> None:
    [changed] = queue.push_many([Draft({"n": 1}, headers={"h": 1})])
    for payload in (None, {"m": 2}, [1], b"n", {"n": 3}):
        queue.edit(changed.id, payload=payload)
        assert queue.count("payload.n is null") == (0 if payload == {"n": 3} else 1), payload
        assert queue.count("payload is null") == (1 if payload is None else 0), payload
    queue.edit(changed.id, headers={"h": None})
    assert (queue.count("headers.h is null"), queue.count("payload.n = 3")) == (1, 1)


def test_the_claim_is_served_by_the_index_of_the_line(
    queue: Queue, other: Queue, place: Place, client: pymongo.MongoClient[dict[str, Any]]
) -> None:
    for each in (queue, other):
        each.push_many([Draft(number) for number in range(30)])
    chosen = {"queue": "mail", "priority": 0, "line_at": {"$gte": Int64(0), "$lt": Int64(1 << 60)}}
    find = {"find": "duerow_message", "filter": chosen, "sort": {"line_at": 1, "_id": 1}, "limit": 5}
    explained = client[place.settings["schema"]].command({"explain": find, "verbosity": "executionStats"})
    assert "'indexName': 'line'" in str(explained["queryPlanner"]["winningPlan"])
    assert explained["executionStats"]["totalKeysExamined"] <= 30
