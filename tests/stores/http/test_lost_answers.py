"""An answer that is lost on its way doubles nothing and loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import duerow
from duerow import Bury, Commit, Draft, Move, Release, Rollback
from duerow.errors import StoreUnavailable
from duerow.settlement import Settlement
from duerow.testing.clock import MovableClock, minutes
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.http.conftest import Houses
from tests.stores.http.faults import Line


@pytest.fixture
def line() -> Line:
    """The way to the server."""
    return Line()


@pytest.fixture
def far(face: Face, place: Place, line: Line, monkeypatch: pytest.MonkeyPatch) -> Iterator[duerow.Database]:
    """The database, at the other end of that way."""
    monkeypatch.setattr("duerow.stores.http.exchange.FIRST_DELAY", 0.0)
    client = line.client if face.name == "sync" else line.aclient
    with face.connect(place.url, client=client) as database:
        yield database


@pytest.fixture
def near(memory_url: str, far: duerow.Database, clock: MovableClock) -> Iterator[duerow.Database]:
    """The same database, from beside it."""
    with duerow.connect(memory_url, clock=clock) as database:
        yield database


@pytest.fixture
def restarts(houses: Houses, place: Place, line: Line) -> None:
    """The server forgets what it has answered whenever an answer is lost, as one does that is started again."""
    name = place.url.rpartition("/")[2]

    def forget() -> None:
        from tests.stores.http.conftest import Api

        Api.ROUTES = None
        houses.mounted[name]._app = None

    line.lost = forget


def test_a_push_without_a_key_whose_answer_was_lost_is_there_once(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    line.losing["messages.push"] = 2
    pushed = far.queue("mail").push_many([Draft(1), Draft(2)])
    assert [one.outcome for one in pushed] == ["created", "created"]
    assert [one.id for one in near.queue("mail").find()] == [one.id for one in pushed]
    assert line.sent["messages.push"] == 3


def test_a_reservation_whose_answer_was_lost_is_handed_over_all_the_same(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    near.queue("mail").push_many([Draft(1), Draft(2)])
    line.losing["messages.reserve"] = 1
    [mine] = far.queue("mail").reserve_many(1)
    assert (mine.message.payload, mine.message.attempts) == (1, 1)
    assert near.queue("mail").stats().leased == 1


def test_a_pop_whose_answers_were_lost_gives_each_message_once(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    near.queue("mail").push_many([Draft(1), Draft(2)])
    line.losing.update({"messages.reserve": 1, "messages.settle": 1})
    popped = far.queue("mail").pop()
    assert popped is not None
    assert popped.payload == 1
    assert [one.payload for one in near.queue("mail").find()] == [2]


ENDS: dict[str, Settlement] = {
    "commit": Commit(then=(Draft("next", queue="billing"),)),
    "rollback": Rollback(minutes(1)),
    "bury": Bury("no use"),
    "release": Release(),
    "move": Move("billing"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_settlement_whose_answer_was_lost_happened_once(
    far: duerow.Database, near: duerow.Database, line: Line, end: str
) -> None:
    near.queue("mail").push("hello")
    mine = far.queue("mail").reserve()
    assert mine is not None
    line.losing["messages.settle"] = 1
    assert far.queue("mail").settle([(mine, ENDS[end])]) == []
    assert line.sent["messages.settle"] == 2
    found = [(one.queue, one.payload, one.status) for name in ("mail", "billing") for one in near.queue(name).find()]
    left = {
        "commit": [("billing", "next", "new")],
        "rollback": [("mail", "hello", "error")],
        "bury": [("mail", "hello", "dead")],
        "release": [("mail", "hello", "new")],
        "move": [("billing", "hello", "new")],
    }
    assert found == left[end]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "operations.change": lambda queue: queue.edit(where="payload = 1", payload=7),
    "operations.remove": lambda queue: queue.remove(where="payload = 1"),
    "operations.purge": lambda queue: queue.purge("mail"),
}


@pytest.mark.parametrize("operation", CHANGES)
def test_a_change_whose_answer_was_lost_says_what_it_did(
    far: duerow.Database, near: duerow.Database, line: Line, operation: str
) -> None:
    near.queue("mail").push_many([Draft(1), Draft(1)])
    line.losing[operation] = 1
    changed = CHANGES[operation](far.queue("mail"))
    assert getattr(changed, "count", changed) == 2
    assert [one.payload for one in near.queue("mail").find()] == ([7, 7] if operation == "operations.change" else [])


# The server was started again in between, so it does not know what it has answered.


@pytest.mark.usefixtures("restarts")
def test_a_push_without_a_key_is_not_pushed_again_when_nobody_knows_whether_it_was(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    line.losing["messages.push"] = 1
    with pytest.raises(StoreUnavailable, match=r"messages\.push was lost") as unsure:
        far.queue("mail").push("hello")
    assert unsure.value.outcome == "unknown"
    assert near.queue("mail").count() == 1


@pytest.mark.usefixtures("restarts")
def test_a_push_with_keys_is_pushed_again_and_is_there_once(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    line.losing["messages.push"] = 1
    pushed = far.queue("mail").push("hello", key="m-1")
    assert [one.id for one in near.queue("mail").find()] == [pushed.id]


@pytest.mark.usefixtures("restarts")
def test_a_settlement_that_nobody_remembers_is_unknown_and_never_a_lost_lease(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    near.queue("mail").push("hello")
    mine = far.queue("mail").reserve()
    assert mine is not None
    line.losing["messages.settle"] = 1
    with pytest.raises(StoreUnavailable) as unsure:
        mine.commit()
    assert unsure.value.outcome == "unknown"
    assert near.queue("mail").count() == 0


@pytest.mark.usefixtures("restarts")
def test_a_reservation_that_nobody_remembers_comes_back_when_its_lease_ends(
    far: duerow.Database, near: duerow.Database, line: Line, clock: MovableClock
) -> None:
    near.queue("mail").push("hello")
    line.losing["messages.reserve"] = 1
    assert far.queue("mail").reserve() is None
    clock.advance(minutes(1))
    mine = far.queue("mail").reserve()
    assert mine is not None
    assert mine.attempt == 2


def test_a_request_that_never_left_is_sent_again_as_if_for_the_first_time(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    line.failing["messages.push"] = 2
    assert far.queue("mail").push("hello").outcome == "created"
    assert near.queue("mail").count() == 1


def test_a_server_that_stays_away_is_unavailable_and_nothing_was_changed(far: duerow.Database, line: Line) -> None:
    line.failing["messages.push"] = 4
    with pytest.raises(StoreUnavailable, match=r"did not answer messages\.push: nobody there") as gone:
        far.queue("mail").push("hello")
    assert gone.value.outcome == "none"
    assert line.sent["messages.push"] == 0


def test_answers_that_are_lost_for_ever_leave_it_unknown_what_happened(
    far: duerow.Database, near: duerow.Database, line: Line
) -> None:
    line.losing["messages.push"] = 4
    with pytest.raises(StoreUnavailable) as gone:
        far.queue("mail").push("hello")
    assert gone.value.outcome == "unknown"
    assert near.queue("mail").count() == 1
