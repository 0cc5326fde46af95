"""A message becomes new messages, in several queues or in one, in the transaction that ends it."""

from __future__ import annotations

from typing import Any

import pytest

from duerow import Database, Draft, Drop, Fork, Message, Pipeline, Relay, Split, fixed, limited
from duerow.errors import NotSupported
from duerow.pipeline import Station
from duerow.testing.clock import MovableClock, hours, seconds
from duerow.testing.contents import everything, payloads
from duerow.testing.pipeline_steps import carry

ONCE = limited(1, fixed(seconds(0)))


def both(message: Message) -> dict[str, Any]:
    return {"paper": message.payload, "mail": [message.payload]} if message.payload else {"mail": "nothing"}


def pages(message: Message) -> Any:
    return (Draft(page, key=f"page-{page}", delay=hours(page)) if page else "cover" for page in range(message.payload))


def forking() -> Pipeline:
    return Pipeline("p", [Fork("in", both, to=["paper", "mail"])], outputs=["paper", "mail"])


def refuses(db: Database, pipeline: Pipeline) -> bool:
    """On a store without transactions, check that nothing is done; return whether it is such a store."""
    if db.store.capabilities.transactions:
        return False
    (reservation,) = db.queue("in").reserve_many(1)
    before = everything(db)
    station: Station = pipeline.stations[0]
    settlement = station.settlement(reservation.message, pipeline.max_hops)
    with pytest.raises(NotSupported):
        db.queue("in").settle([(reservation, settlement)])
    assert everything(db) == before
    with pytest.raises(NotSupported, match="'in' needs a store that can change several messages together"):
        pipeline.check_store(db.store.capabilities)
    return True


def test_a_fork_makes_a_new_message_for_each_queue_that_names_its_parent(db: Database, clock: MovableClock) -> None:
    pushed = db.queue("in").push(7, key="k", headers={"trace": "t", "hops": 2}, group="g", priority=3)
    if refuses(db, forking()):
        return
    assert carry(db, forking()) == []
    (paper,), (mail,) = db.queue("paper").find(), db.queue("mail").find()
    assert (paper.payload, mail.payload, db.queue("in").count()) == (7, [7], 0)
    assert len({pushed.id, paper.id, mail.id}) == 3
    for one in (paper, mail):
        assert one.headers == {"trace": "t", "parent": pushed.id, "hops": 3}
        assert (one.key, one.group, one.priority, one.attempts, one.status) == (None, "g", 3, 0, "new")


def test_a_fork_that_fails_or_names_a_wrong_queue_leaves_nothing_and_takes_no_other_with_it(db: Database) -> None:
    wrong: dict[Any, Any] = {1: {}, 2: {"elsewhere": 1}, 3: None, 4: [("mail", 1)], 5: {"mail": {1}}, 6: Drop}

    def fork(message: Message) -> Any:
        return wrong.get(message.payload, {"mail": message.payload})

    pipeline = Pipeline("p", [Fork("in", fork, to=["mail"], retry=ONCE)], outputs=["mail"])
    db.queue("in").push_many([Draft(number) for number in range(8)])
    if refuses(db, pipeline):
        return
    carry(db, pipeline)
    assert payloads(db.queue("mail")) == [0, 7]
    errors = [one.last_error.message for one in db.queue("in").find(status="dead") if one.last_error]
    assert len(errors) == 6
    assert all("fork 'in', message" in error for error in errors)


def test_a_split_makes_as_many_messages_as_it_says_and_none_is_a_drop(db: Database) -> None:
    pipeline = Pipeline("p", [Split("in", pages, to="page")], outputs=["page"])
    pushed = db.queue("in").push_many(Draft(number, headers={"a": 1}, priority=2) for number in (3, 0, 1))
    if refuses(db, pipeline):
        return
    carry(db, pipeline)
    found = db.queue("page").find()
    assert [one.payload for one in found] == ["cover", 1, 2, "cover"]
    assert [one.headers.get("parent") for one in found] == [pushed[0].id] * 3 + [pushed[2].id]
    assert [(one.key, one.priority, one.headers.get("a")) for one in found[:3]] == [
        (None, 2, 1),
        ("page-1", 0, 1),
        ("page-2", 0, 1),
    ]
    assert [one.due_at - one.created_at for one in found[:3] if one.due_at] == [hours(0), hours(1), hours(2)]
    assert db.queue("in").count() == 0


@pytest.mark.parametrize("returned", [None, "text", b"bytes", {"a": 1}, 5, [1, {2}], [Draft(1, queue="elsewhere")]])
def test_a_split_that_returns_anything_else_is_a_failed_attempt(db: Database, returned: Any) -> None:
    pipeline = Pipeline("p", [Split("in", lambda message: returned, to="page", retry=ONCE)], outputs=["page"])
    db.queue("in").push(1)
    carry(db, pipeline)
    (dead,) = db.queue("in").find()
    assert dead.status == "dead"
    assert dead.last_error is not None
    assert dead.last_error.message.startswith("InvalidOutcome: split 'in', message ")
    assert db.queue("page").count() == 0


def test_a_fork_or_split_whose_lease_is_lost_makes_nothing(db: Database, clock: MovableClock) -> None:
    db.queue("in").push(7)
    if refuses(db, forking()):
        return
    late = turns_held_back(db, forking())
    clock.advance(hours(1))
    carry(db, forking())
    assert [len(refused) for refused in late()] == [1]
    assert payloads(db.queue("paper")) == [7]
    assert payloads(db.queue("mail")) == [[7]]


def turns_held_back(db: Database, pipeline: Pipeline) -> Any:
    """Claim and call the function now, but settle only when the caller asks."""
    queue = db.queue("in")
    (reservation,) = queue.reserve_many(1)
    settlement = pipeline.stations[0].settlement(reservation.message, pipeline.max_hops)
    return lambda: [queue.settle([(reservation, settlement)])]


def test_what_goes_round_in_a_loop_is_buried_after_the_most_hops(db: Database) -> None:
    round_and_round = Fork("in", lambda message: {"in": message.payload}, to=["in", "out"])
    stations = [Relay("first", lambda message: message.payload, to="in"), round_and_round]
    db.queue("first").push(1)
    if db.store.capabilities.transactions:
        carry(db, Pipeline("p", stations, outputs=["out"], max_hops=4))
        (dead,) = db.queue("in").find()
        assert (dead.status, dead.headers["hops"]) == ("dead", 4)
        assert dead.last_error is not None
        assert "it cannot move to 'in': it has already moved 4 times" in dead.last_error.message
