"""A worker with a rate begins no more than so many messages in any span of that length."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import duerow
from duerow.errors import StoreUnavailable
from duerow.plan import run
from duerow.retry import DEFAULT
from duerow.worker.budget import Budget
from duerow.worker.fetcher import Reserve, Sleep
from duerow.worker.prefetch import Prefetch
from duerow.worker.rate_limit import Entries, NoteBegun, Throttled
from duerow.worker.run import Options, Run


class Time:
    """A clock that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@cache
def a_reservation() -> Any:
    """Any message that was claimed."""
    with duerow.connect("memory://") as db:
        db.queue("mail").push("hello")
        return db.queue("mail").reserve()


def claims(most: int, seconds: float, wanted: list[int], woken_early: bool) -> list[tuple[float, int]]:
    """When how many were claimed from a queue that never ends."""
    time = Time()
    options = Options(
        batch=10,
        concurrency=1,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(0),
        name="anna",
        rate=(most, timedelta(seconds=seconds)),
    )
    worker_run = Run("mail", options, None)
    claimed: list[tuple[float, int]] = []
    sleeps = [0]

    def carry_out(step: Any) -> Any:
        if isinstance(step, Reserve):
            return [a_reservation()] * step.limit
        if isinstance(step, Sleep):
            sleeps[0] += 1
            part = woken_early and sleeps[0] % 2
            time.now += step.seconds / 2 if part else step.seconds
            return bool(part)
        return None

    fetcher = Throttled(worker_run, Budget(options.rate, time))  # type: ignore[arg-type]
    for limit in wanted:
        got = run(fetcher.next(limit), carry_out)
        assert 1 <= len(got) <= limit
        claimed.append((time.now, len(got)))
        worker_run.in_flight.let_go(got)
        time.now += 0.01
    return claimed


@given(st.integers(1, 20), st.floats(0.5, 100), st.lists(st.integers(1, 15), min_size=1, max_size=40), st.booleans())
def test_no_span_of_that_length_has_more(most: int, seconds: float, wanted: list[int], woken_early: bool) -> None:
    claimed = claims(most, seconds, wanted, woken_early)
    for start, _ in claimed:
        assert sum(count for moment, count in claimed if start <= moment < start + seconds - 1e-5) <= most


def test_it_waits_no_longer_than_it_must() -> None:
    claimed = claims(5, 10, [5, 5, 5], woken_early=False)
    assert claimed == [(1000.0, 5), (pytest.approx(1010.0), 5), (pytest.approx(1020.0), 5)]


def test_nothing_is_claimed_ahead_of_the_handlers() -> None:
    prefetch = Prefetch(batch=100, concurrency=4, lease=60, ahead=0)
    for _ in range(1000):
        prefetch.note(0.000_01)
    assert prefetch.most == 4


def test_a_singleton_writes_down_what_it_begins_before_any_handler_sees_it() -> None:
    options = Options(
        batch=10,
        concurrency=4,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(0),
        name="anna",
        rate=(100, timedelta(seconds=50)),
        singleton=True,
    )
    worker_run = Run("mail", options, None)
    time = Time()
    fetcher = Throttled(worker_run, Budget(options.rate, time))  # type: ignore[arg-type]
    fetcher._entries = Entries(timedelta(seconds=50), time)
    away = [False, True, False, False]  # the second time it is written down the database is away
    noted: list[NoteBegun] = []

    def carry_out(step: Any) -> Any:
        if isinstance(step, Reserve):
            return [a_reservation()] * step.limit
        if isinstance(step, NoteBegun):
            noted.append(step)
            if away.pop(0):
                raise StoreUnavailable("it is away")
        return isinstance(step, Sleep)

    run(fetcher.next(3), carry_out)
    assert [(one.total, one.new) for one in noted] == [(3, True)]
    time.now += 0.4
    run(fetcher.next(2), carry_out)
    assert [(one.total, one.new) for one in noted] == [(3, True), (5, False), (5, False)]
    time.now += 0.1  # a hundredth of the span is over
    run(fetcher.next(4), carry_out)
    assert (noted[-1].total, noted[-1].new) == (4, True)
    assert len({one.entry for one in noted}) == 2
