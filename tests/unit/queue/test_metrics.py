"""What was counted is written once, also when a write fails, another thread writes, or the process forks."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

from duerow.queue import metrics as module
from duerow.queue.metrics import Metrics
from duerow.store import Totals
from duerow.testing.clock import MovableClock

START = datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(START)


@pytest.fixture
def metrics(clock: MovableClock) -> Metrics:
    return Metrics(clock.now)


def written(metrics: Metrics) -> list[tuple[str, datetime, int]]:
    """Write; return what."""
    with metrics.writing() as rows:
        return [(row.queue, row.minute, row.totals.done) for row in rows]


def test_a_row_says_all_of_its_minute_and_the_next_minute_begins_anew(metrics: Metrics, clock: MovableClock) -> None:
    minute = START.replace(second=0)
    metrics.ended("mail", 3)
    metrics.ended("billing", 1)
    assert written(metrics) == [("billing", minute, 1), ("mail", minute, 3)]
    assert written(metrics) == []
    metrics.ended("mail", 2)
    assert written(metrics) == [("mail", minute, 5)]
    clock.advance(timedelta(minutes=1))
    metrics.ended("mail", 7)
    assert written(metrics) == [("mail", minute + timedelta(minutes=1), 7)]


def test_what_could_not_be_written_is_written_with_the_next(metrics: Metrics, clock: MovableClock) -> None:
    def fail() -> None:
        with metrics.writing():
            metrics.ended("mail", 1)
            raise OSError("cut off")

    metrics.ended("mail", 3)
    with pytest.raises(OSError, match="cut off"):
        fail()
    assert metrics.unwritten("mail").done == 4
    clock.advance(timedelta(minutes=5))
    assert written(metrics) == [("mail", (START + timedelta(minutes=5)).replace(second=0), 4)]


def test_while_one_thread_writes_another_has_nothing_to_write(metrics: Metrics) -> None:
    metrics.ended("mail", 3)
    with metrics.writing() as rows:
        metrics.ended("mail", 2)
        assert written(metrics) == []
        assert len(rows) == 1
    assert [number for *_, number in written(metrics)] == [5]


def test_it_is_due_every_ten_seconds_if_there_is_something(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics.ended("mail", 1)
    assert not metrics.due()
    now = module.monotonic()
    monkeypatch.setattr(module, "monotonic", lambda: now + 11)
    assert metrics.due()
    written(metrics)
    metrics.ended("mail", 1)
    assert not metrics.due()
    monkeypatch.setattr(module, "monotonic", lambda: now + 22)
    assert metrics.due()


def test_the_minute_is_that_of_the_database_as_its_claims_show_it(metrics: Metrics, clock: MovableClock) -> None:
    class Lent:
        priority = 0
        due_at = START
        last_attempt_at = START + timedelta(hours=1)

    metrics.claimed("mail", [Lent()])
    metrics.ended("mail", 1)
    assert written(metrics) == [("mail", START.replace(hour=13, second=0), 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here, and so no child that inherits anything")
def test_a_child_counts_its_own_work_alone_and_under_another_name(metrics: Metrics) -> None:
    metrics.ended("mail", 3)
    mine = metrics.process
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        metrics.ended("mail", 1)
        os.write(into, f"{metrics.unwritten('mail').done} {metrics.process == mine}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(out, 100) == b"1 False"
    assert metrics.unwritten("mail").done == 3
    with metrics.writing() as rows:
        assert [row.totals for row in rows] == [Totals(done=3)]
