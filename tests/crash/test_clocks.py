"""Clocks of processes that are wrong: what a run may then still ask of its database."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import duerow
from duerow.clock import HostClock
from duerow.testing.torture import tables
from duerow.testing.torture.claims import Claims
from duerow.testing.torture.clocks import STEADY, WRONG, WrongClock, be_wrong
from duerow.testing.torture.environment import Setting


def test_a_clock_is_wrong_and_is_set_forwards_and_backwards():
    passed = [0.0]
    clock = WrongClock(random.Random(7), lambda: passed[0])
    seen = []
    for _ in range(20):
        passed[0] += STEADY[1]
        seen.append((clock.now() - datetime.now(UTC)).total_seconds())
    assert max(map(abs, seen)) <= WRONG + 1
    assert min(seen) < -WRONG / 2
    assert max(seen) > WRONG / 2


def test_a_clock_goes_on_steadily_until_it_is_set():
    clock = WrongClock(random.Random(7), lambda: 0.0)
    first = clock.now()
    assert timedelta(0) <= clock.now() - first


@pytest.fixture
def wrong() -> Iterator[None]:
    right = HostClock.now
    be_wrong(random.Random(3))
    yield
    HostClock.now = right  # type: ignore[method-assign]


def test_messages_in_a_file_are_pushed_at_the_wrong_time(wrong: None, tmp_path: Path):
    with duerow.connect(f"sqlite:///{tmp_path}/spare.db", migrate=True) as database:
        queue = database.queue("mail")
        pushed = [queue.push(number).id for number in range(3)]
        message = queue.get(pushed[0])
        assert message is not None
        assert abs((message.created_at - datetime.now(UTC)).total_seconds()) > 0.05


@pytest.mark.parametrize(("url", "agree"), [("sqlite:///spare.db", False), ("postgresql://localhost/spare", True)])
def test_processes_go_by_one_clock_only_if_the_database_has_one(url: str, agree: bool):
    assert Setting(url, {"prefix": tables.prefix_of(7)}, clocks=True).times_agree is agree
    assert Setting(url, {"prefix": tables.prefix_of(7)}).times_agree


def test_nothing_is_told_of_when_a_claim_began_by_a_clock_that_is_wrong(tmp_path: Path):
    with duerow.connect(f"sqlite:///{tmp_path}/spare.db", migrate=True) as database:
        database.queue("mail").push(1)
        reservation = database.queue("mail").reserve()
        assert reservation is not None
        assert Claims(comparable=False).since(reservation.message) is None
