"""Nothing waits long for the lower bound at which PostgreSQL's claims start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

import duerow
from duerow import Draft
from duerow.stores.sql import claim_floor
from duerow.testing.conformance.fixtures import Place

SECOND = timedelta(seconds=1)


@pytest.fixture
def monotonic(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the process as the floor sees them, to be moved."""
    seconds = [1000.0]
    monkeypatch.setattr(claim_floor, "time", type("Time", (), {"monotonic": staticmethod(lambda: seconds[0])}))
    return seconds


@pytest.fixture
def queue(place: Place) -> Iterator[duerow.Queue]:
    with duerow.connect(place.url, **place.settings) as database:
        yield database.queue("mail")


def push_late(queue: duerow.Queue, url: str, due: datetime, meanwhile: list[Draft]) -> None:
    """Push from a transaction that commits only after later messages were pushed and lent."""
    with closing(psycopg.connect(url)) as connection:
        queue.push("late", due=due, within=connection)
        queue.push_many(meanwhile)
        assert len(queue.reserve_many(5)) == 5
        assert len(queue.reserve_many(5)) == 5
        connection.commit()


def test_a_message_committed_late_below_the_floor_is_lent_before_the_queue_is_called_empty(
    queue: duerow.Queue, place: Place, monotonic: list[float]
) -> None:
    now = datetime.now(UTC)
    push_late(queue, place.url, now - 10 * SECOND, [Draft(n, due=now - 5 * SECOND) for n in range(10)])
    assert [lent.message.payload for lent in queue.reserve_many(5)] == ["late"]


def test_a_message_committed_late_below_the_floor_waits_half_a_second_at_most_in_a_busy_queue(
    place: Place, monotonic: list[float]
) -> None:
    with (
        duerow.connect(place.url, **place.settings) as consumers,
        duerow.connect(place.url, **place.settings) as others,
    ):
        busy, now = consumers.queue("mail"), datetime.now(UTC)
        with closing(psycopg.connect(place.url)) as connection:
            others.queue("mail").push("late", due=now - 10 * SECOND, within=connection)
            others.queue("mail").push_many([Draft(n, due=now - 5 * SECOND + n * SECOND / 50) for n in range(100)])
            for _ in range(10):
                assert len(busy.reserve_many(5)) == 5
            connection.commit()
        above = [lent.message.payload for lent in busy.reserve_many(5)]
        monotonic[0] += claim_floor.LOOK_BELOW
        below = [lent.message.payload for lent in busy.reserve_many(5)]
    assert "late" not in above, "the floor was not in use, so this test shows nothing"
    assert below[0] == "late"


def test_a_message_pushed_below_the_floor_by_the_same_process_is_lent_next(
    queue: duerow.Queue, monotonic: list[float]
) -> None:
    now = datetime.now(UTC)
    queue.push_many([Draft(n, due=now - 5 * SECOND) for n in range(20)])
    assert len(queue.reserve_many(5)) == len(queue.reserve_many(5)) == 5
    queue.push("below", due=now - 60 * SECOND)
    assert queue.reserve_many(1)[0].message.payload == "below"


def test_a_message_given_back_below_the_floor_is_lent_next(queue: duerow.Queue, monotonic: list[float]) -> None:
    now = datetime.now(UTC)
    queue.push("first", due=now - 60 * SECOND)
    queue.push_many([Draft(n, due=now - 5 * SECOND) for n in range(20)])
    first = queue.reserve_many(5)[0]
    assert len(queue.reserve_many(5)) == 5
    first.release()
    assert queue.reserve_many(1)[0].message.payload == "first"


def test_a_message_that_another_transaction_holds_keeps_nobody_waiting_and_the_floor_before_it(
    place: Place, monotonic: list[float]
) -> None:
    now = datetime.now(UTC)
    patience = "options=-c%20lock_timeout%3D500"  # who waits all the same does so in vain
    url = f"{place.url}{'&' if '?' in place.url else '?'}{patience}"
    with duerow.connect(url, **place.settings) as database, closing(psycopg.connect(place.url)) as other:
        queue = database.queue("mail")
        held = queue.push("held", due=now - 60 * SECOND)
        queue.push_many([Draft(n, due=now - 5 * SECOND) for n in range(20)])
        table: str = database.store.context.tables.message.fullname  # type: ignore[attr-defined]
        other.execute(f"SELECT 1 FROM {table} WHERE id = {held.id} FOR UPDATE")
        for first in (0, 5):
            assert [lent.message.payload for lent in queue.reserve_many(5)] == [*range(first, first + 5)]
        other.rollback()
        assert queue.reserve_many(1)[0].message.payload == "held"


@pytest.mark.parametrize("sleep", [timedelta(0), timedelta(seconds=5)])
@pytest.mark.parametrize("priority", [0, 5])
def test_who_relies_on_a_queue_being_idle_is_told_of_what_was_committed_late(
    place: Place, priority: int, sleep: timedelta
) -> None:
    with (
        duerow.connect(place.url, **place.settings) as looking,
        duerow.connect(place.url, **place.settings) as producing,
        closing(psycopg.connect(place.url)) as connection,
    ):

        def due_in() -> timedelta | None:
            return looking.run(lambda: looking.store.messages.next_due(["mail"], sleep, relied_on=True))

        producing.queue("mail").push("late", priority=priority, within=connection)
        assert due_in() is None
        connection.commit()
        assert (waits := due_in()) is not None
        assert waits < timedelta(0)
