"""Rows are told apart by primary keys of whatever kind, and of several columns."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from duerow import fixed, limited
from duerow.errors import ConfigurationError, InvalidMessage, LeaseLost, MessageLeased
from duerow.stores.sql.entities.queries import id_of
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.faces import Face, another
from tests.entity.faces import engine_of_face, queue_of_face
from tests.entity.models import ByText, ByThree, ByUuid

TENANT = UUID(int=7 << 100)

IDS: dict[Any, Callable[[int], Any]] = {
    ByUuid: lambda place: UUID(int=(place << 90) + 5),
    ByText: lambda place: f'o\'ne "{{t,wo}}" \\{place:03}',
    ByThree: lambda place: (TENANT, date(2026, 1, 1 + place % 28), place),
}


def row(model: Any, id: Any) -> Any:
    """Return a new row with this primary key."""
    if model is ByThree:
        return model(**dict(zip(("tenant", "day", "number"), id, strict=True)))
    return model(id=id)


@pytest.fixture(params=IDS, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest, store: str) -> Any:
    """A model whose primary key is no single integer."""
    if request.param is ByText and store in ("mariadb", "mysql"):
        pytest.skip("text in a primary key is refused there, as another test says")
    return request.param


@pytest.fixture
def put(engine: Engine, model: Any, clock: MovableClock) -> Callable[[int], list[Any]]:
    """Inserts so many rows that are due; returns their ids."""

    def put(number: int) -> list[Any]:
        ids = [IDS[model](place) for place in range(number)]
        with Session(engine) as session, session.begin():
            for place, id in enumerate(ids):
                one = row(model, id)
                one.sending.schedule(clock.now() - timedelta(seconds=number - place))
                session.add(one)
        return ids

    return put


def test_a_turn_ends_in_every_way_whatever_the_primary_key_is(
    open_queue: Any, model: Any, put: Any, clock: MovableClock, engine: Engine
) -> None:
    queue = open_queue(model.sending, retry=limited(2, fixed(minutes(1))))
    queue.check()
    done, failed, dead, back, kept, lost = ids = put(6)
    lent = queue.reserve_many(6)
    assert [one.message.id for one in lent] == ids
    assert queue.extend(lent[4], minutes(5)).until == clock.now() + minutes(5)
    queue.commit(lent[0])
    queue.rollback(lent[1], error="no line")
    queue.bury(lent[2], "no use")
    queue.release(lent[3])
    with Session(engine) as session, session.begin():
        gone = session.get_one(model, lost)
        session.delete(gone)
    with pytest.raises(LeaseLost, match="is no longer yours"):
        queue.commit(lent[5])
    assert [one.receipt.id for one in queue.commit_many([lent[4], lent[3], lent[0]])] == [back, done]
    expected = {done: "done", failed: "not-due", dead: "dead", back: "ready", kept: "done"}
    assert {id: queue.why(id)[0].code for id in expected} == {id: [code][0] for id, code in expected.items()}
    with pytest.raises(InvalidMessage, match="has no row with id"):
        queue.why(lost)
    assert [id_of(one) for one in queue.find(after=sorted(ids)[0])] == sorted({*ids} - {lost})[1:]
    again = queue.reserve()
    assert (again.message.id, again.attempt) == (back, 1)
    with pytest.raises(MessageLeased):
        queue.requeue(id=back)
    assert queue.reschedule(id=dead, delay=hours(1)).count == queue.requeue(id=failed).count == 1
    assert [one.message.id for one in queue.reserve_many(9)] == [failed]
    for wrong in (None, (), (1, 2), ("x", "y", "z", 1)):
        with pytest.raises(InvalidMessage, match="is not a primary key here; it must be"):
            queue.why(wrong)


def test_rows_with_any_primary_key_are_deleted_when_they_are_done(open_queue: Any, model: Any, put: Any) -> None:
    queue = open_queue(model.sending, on_done="delete")
    ids = put(3)
    first, *others = queue.reserve_many(3)
    queue.release(first)
    assert [one.receipt.id for one in queue.commit_many([first, *others])] == [ids[0]]
    assert [id_of(one) for one in queue.find()] == [ids[0]]


def test_consumers_that_race_get_each_row_once_whatever_the_primary_key_is(
    model: Any, put: Any, face: Face, url: str, clock: MovableClock
) -> None:
    ids = put(60)

    def drain(size: int) -> list[Any]:
        mine: list[Any] = []
        with another(face) as own, engine_of_face(own, url) as engine:
            queue = queue_of_face(own, model.sending, engine, clock, {})
            while batch := queue.reserve_many(size):
                assert len(batch) <= size
                mine += [one.message.id for one in batch]
                assert queue.extend_many(batch) == queue.commit_many(batch) == []
        return mine

    with ThreadPoolExecutor(3) as threads:
        taken = [id for mine in threads.map(drain, (1, 3, 7)) for id in mine]
    assert sorted(taken) == sorted(ids)


def test_primary_keys_that_no_index_would_find_are_refused_when_the_queue_is_made(open_queue: Any, store: str) -> None:
    if store not in ("mariadb", "mysql"):
        open_queue(ByText.sending).check()
        return
    with pytest.raises(ConfigurationError, match=r"The Key of the primary key is Lower.*can be int, UUID, date here"):
        open_queue(ByText.sending)
