"""A queue that remembers keys treats the keys of messages that left recently as taken."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from duerow import Bury, Commit, Database, Draft, Move, Queue, Release, Rollback, fixed, limited
from duerow.errors import DuerowError, DuplicateKey
from duerow.message import ON_DUPLICATE
from duerow.testing.clock import MovableClock, minutes, seconds
from duerow.testing.conformance.fixtures import Begin, Place
from duerow.testing.conformance.races import Race, race
from duerow.testing.faces import Face

DAY = timedelta(days=1)


def made(db: Database) -> Queue:
    """Return a queue that remembers keys for a day and hands each message out once."""
    return db.queue("orders", remember_keys=DAY, retry=limited(1, fixed(seconds(0))))


def leaving(db: Database, clock: MovableClock) -> dict[str, Callable[[Queue], object]]:
    """Return the ways in which a message leaves its queue or fails for good."""

    def settled(settlement: object) -> Callable[[Queue], object]:
        return lambda queue: queue.settle([(queue.reserve(), settlement)])  # type: ignore[list-item]

    def lost(queue: Queue) -> object:
        queue.reserve()
        clock.advance(minutes(1))
        return queue.reserve()

    letters = db.queue("orders", remember_keys=DAY, retry=limited(1, fixed(seconds(0))), dead_letter="letters")
    return {
        "done": settled(Commit()),
        "dead": settled(Bury("no use")),
        "dead letter": lambda _: settled(Bury("no use"))(letters),
        "lost": lost,
        "lost dead letter": lambda _: lost(letters),
        "moved": settled(Move("billing")),
        "popped": lambda queue: queue.pop(),
        "popped of a history": lambda queue: queue.database.queue("orders", remember_keys=DAY, history=DAY).pop(),
        "removed": lambda queue: queue.remove(key="removed"),
        "removed by id": lambda queue: queue.remove(queue.find(key="removed by id")[0].id),
    }


def test_the_key_of_a_message_that_left_is_remembered_for_its_time(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    ids = {}
    for way, leave in leaving(db, clock).items():
        ids[way] = orders.push("first", key=way).id
        leave(orders)
        assert not orders.contains(way), way
    for way, id in ids.items():
        for mode in ON_DUPLICATE[:3]:
            pushed = orders.push("again", key=way, on_duplicate=mode, delay=minutes(5))
            assert (pushed.id, pushed.outcome) == (id, "ignored"), (way, mode)
        with pytest.raises(DuplicateKey, match=f"{way}.*, or remembers the key from an earlier message; .*=.ignore"):
            orders.push("again", key=way, on_duplicate="reject")
    assert db.queue("billing", remember_keys=DAY).push("elsewhere", key="done").outcome == "created"
    assert db.queue("orders").push("not asked", key="done").outcome == "created"
    clock.advance(DAY)
    assert orders.push("again", key="popped").outcome == "created"
    assert db.maintain().pruned > 0
    assert orders.push("again", key="dead").outcome == "created"


def test_a_batch_meets_the_keys_that_are_remembered(db: Database) -> None:
    orders = made(db)
    old = orders.push("old", key="old").id
    orders.pop()
    live = orders.push("live", key="live").id
    drafts = [Draft(n, key=key) for n, key in enumerate(["old", "new", None, "live", "old", "new"])]
    pushed = orders.push_many(drafts)
    assert [one.outcome for one in pushed] == ["ignored", "created", "created", "ignored", "ignored", "ignored"]
    assert [one.id for one in pushed] == [old, pushed[1].id, pushed[2].id, live, old, pushed[1].id]
    with pytest.raises(DuplicateKey) as refused:
        orders.push_many([Draft(1, key="fresh"), Draft(2, key="old"), Draft(3, key="live")], on_duplicate="reject")
    assert list(refused.value.keys) == ["old", "live"]
    assert orders.push_many([Draft(1, key="old")], on_duplicate="replace")[0].id == old
    assert orders.count() == 3


def test_a_message_that_is_still_there_has_its_key_itself(db: Database, clock: MovableClock) -> None:
    orders = made(db)
    patient = orders.with_overrides(None, limited(5, fixed(seconds(0))))
    id = patient.push("first", key="k").id
    for ending in (Release(), Rollback(seconds(0), "no line")):
        reservation = patient.reserve()
        assert reservation is not None
        patient.settle([(reservation, ending)])
        pushed = patient.push("newer", key="k", on_duplicate="replace")
        assert (pushed.id, pushed.outcome) == (id, "updated"), ending
    patient.settle([(patient.reserve(), Bury("no use"))])  # type: ignore[list-item]
    assert patient.push("again", key="k").outcome == "ignored"
    patient.requeue(id)
    again = patient.push("again", key="k", on_duplicate="replace")
    assert (again.id, again.outcome) == (id, "updated")
    clock.advance(DAY)
    assert patient.push("later", key="k").id == id
    patient.pop()
    assert patient.push("later", key="k").outcome == "ignored"
    patient.push("failed once", key="f")
    patient.settle([(patient.reserve(), Rollback(seconds(0), "no line"))])  # type: ignore[list-item]
    assert db.queue("orders").pop() is not None
    assert patient.push("not remembered", key="f").outcome == "created"


def test_keys_are_remembered_in_the_transaction_of_the_caller(db: Database, begin: Begin | None) -> None:
    orders = made(db)
    if begin is None:
        with pytest.raises(DuerowError):
            orders.push("hello", key="k", within=object())
        return
    first, second = (orders.push("first", key=key).id for key in ("popped", "removed"))
    for ending in ("rollback", "commit"):
        with begin() as own:
            assert orders.pop(within=own.handle) is not None
            assert orders.remove(key="removed", within=own.handle)
            drafts = [Draft("again", key="popped"), Draft("again", key="removed"), Draft("new", key=ending)]
            pushed = orders.push_many(drafts, within=own.handle)
            assert [one.outcome for one in pushed] == ["ignored", "ignored", "created"]
            assert [one.id for one in pushed[:2]] == [first, second]
            getattr(own, ending)()
        assert orders.push("again", key="removed").id == second
        assert orders.contains("removed") is (ending == "rollback")
    assert [message.key for message in orders.find()] == ["commit"]


def test_of_producers_that_race_with_consumers_each_key_is_handled_once(
    face: Face, db: Database, place: Place, clock: MovableClock
) -> None:
    keys = [f"k-{number}" for number in range(30)]

    def produce(queue: Queue) -> list[str]:
        mine = queue.database.queue("mail", remember_keys=DAY)
        for _ in range(4):
            mine.push_many([Draft(0, key=key) for key in keys[:15]])
            for key in keys[15:]:
                mine.push(0, key=key)
        return []

    def consume(queue: Queue) -> list[str]:
        mine = queue.database.queue("mail", remember_keys=DAY)
        handled: list[str] = []
        while len(handled) < 8:
            batch = mine.reserve_many(3)
            assert mine.commit_many(batch) == []
            handled += [str(one.message.key) for one in batch]
        return handled

    runners: list[Race[list[str]]] = [produce, consume, produce, consume]
    handled = [key for mine in race(face, place, clock, runners) for key in mine]
    left = [str(message.key) for message in db.queue("mail").find()]
    assert sorted(handled + left) == sorted(keys)
