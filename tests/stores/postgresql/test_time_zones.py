"""A day is 24 hours long, wherever the session's time zone moves its clocks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine, create_engine, make_url

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place

SPANS = [timedelta(days=days, microseconds=1) for days in (60, 120, 180, 240, 300)]
"""From any day of the year on, some of these end in summer and some in winter."""


@pytest.fixture(params=["psycopg", "psycopg2"])
def engine(request: pytest.FixtureRequest, place: Place) -> Iterator[Engine]:
    """The user's own engine, whose sessions live where clocks are moved."""
    url = make_url(place.url).set(drivername=f"postgresql+{request.param}")
    made = create_engine(url, connect_args={"options": "-c TimeZone=Europe/Zagreb"})
    yield made
    made.dispose()


@pytest.fixture
def queue(engine: Engine, place: Place) -> duerow.Queue:
    return duerow.connect(engine, **place.settings).queue("mail")


def test_a_delay_is_as_long_as_it_says(queue: duerow.Queue, engine: Engine) -> None:
    for span in SPANS:
        queue.push(1, delay=span)
    with engine.begin() as connection:
        queue.push_many([Draft(2, delay=span) for span in SPANS], within=connection)
    assert [message.due_at - message.created_at for message in queue.find() if message.due_at] == SPANS * 2


def test_a_lease_is_as_long_as_it_says(queue: duerow.Queue) -> None:
    for span in SPANS:
        pushed = queue.push(1)
        reservation = queue.reserve(lease=span)
        assert reservation is not None
        message = queue.get(pushed.id)
        assert message is not None
        assert message.last_attempt_at is not None
        assert message.leased_until == reservation.until == message.last_attempt_at + span


def test_a_rollback_waits_as_long_as_it_says(queue: duerow.Queue) -> None:
    queue.push_many([Draft(number) for number in range(len(SPANS))])
    reservations = queue.reserve_many(len(SPANS))
    pairs = [(one, duerow.Rollback(span)) for one, span in zip(reservations, SPANS, strict=True)]
    assert queue.settle(pairs) == []
    waits = [message.due_at - message.created_at for message in queue.find() if message.due_at]
    assert [wait.days for wait in waits] == [span.days for span in SPANS]
    assert all(wait - span < timedelta(minutes=10) for wait, span in zip(waits, SPANS, strict=True))
