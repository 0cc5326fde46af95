"""When a worker extends the leases of what it has in hand: its plan is carried out here by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow.errors import StoreUnavailable
from duerow.plan import run
from duerow.retry import DEFAULT
from duerow.settlement import Release
from duerow.worker import lease_keeper as module
from duerow.worker.attempt import Attempt
from duerow.worker.cancellation import WatchCancellations
from duerow.worker.lease_keeper import LOOK, MOST_AT_ONCE, TOO_LONG, Extend, LeaseKeeper, WriteProgress
from duerow.worker.run import Options, Run
from duerow.worker.settler import Freed, Pause, Settle


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the process, which a pause moves."""
    seconds = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: seconds[0])
    return seconds


def a_run(lease: float = 30.0, heartbeat: float | None = None) -> Run:
    options = Options(
        batch=1,
        concurrency=1,
        lease=timedelta(seconds=lease),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(seconds=1),
        name="anna",
        heartbeat=None if heartbeat is None else timedelta(seconds=heartbeat),
    )
    return Run("mail", options, None)


def begun(worker_run: Run, count: int, since: float) -> list[Attempt]:
    """Return attempts at so many messages that were claimed then and are being handled."""
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        return worker_run.in_flight.take_in(queue.reserve_many(count), since)


def keep(
    worker_run: Run, seconds: list[float], lasting: float, answer: Callable[[Any], Any] = lambda step: []
) -> list[tuple[float, Any]]:
    """Keep leases for so long; return each step other than a pause, with the seconds that had passed."""
    start = seconds[0]
    steps: list[tuple[float, Any]] = []

    def answered(step: Any) -> Any:
        if not isinstance(step, Pause):
            steps.append((round(seconds[0] - start, 3), step))
            return answer(step)
        assert 0 <= step.seconds <= LOOK or steps
        seconds[0] += max(step.seconds, 0.05)
        worker_run.gave_up = seconds[0] - start >= lasting
        return None

    run(LeaseKeeper(worker_run).keep(), answered)
    return steps


def extensions(steps: list[tuple[float, Any]]) -> list[float]:
    """Return when leases were extended."""
    return [at for at, step in steps if isinstance(step, Extend)]


@pytest.mark.parametrize(
    ("lease", "heartbeat", "times"),
    [
        (30.0, None, [10, 20]),
        (12.0, None, [4, 8, 12, 16, 20]),
        (30.0, 7.0, [7, 14, 21]),
        (30.0, 0.5, [number / 2 for number in range(1, 45)]),
    ],
)
def test_leases_are_extended_at_every_heartbeat_by_default_a_third_of_a_lease(
    seconds: list[float], lease: float, heartbeat: float | None, times: list[float]
) -> None:
    worker_run = a_run(lease, heartbeat)
    begun(worker_run, 1, seconds[0])
    assert extensions(keep(worker_run, seconds, 22.0)) == pytest.approx(times, abs=0.1)


def test_leases_older_than_half_a_heartbeat_are_extended_with_the_oldest(seconds: list[float]) -> None:
    worker_run = a_run()
    _, old, young = begun(worker_run, 3, seconds[0])
    old.extended_at += 4.9
    young.extended_at += 5.2
    [(_, extend), *_] = [one for one in keep(worker_run, seconds, 10.5) if isinstance(one[1], Extend)]
    assert len(extend.reservations) == 2
    assert young.reservation not in extend.reservations


def test_more_leases_than_one_statement_takes_are_extended_in_parts(seconds: list[float]) -> None:
    worker_run = a_run()
    count = MOST_AT_ONCE + 1
    begun(worker_run, count, seconds[0])
    parts = [len(step.reservations) for _, step in keep(worker_run, seconds, 10.5) if isinstance(step, Extend)]
    assert parts == [MOST_AT_ONCE, 1]


def test_leases_that_could_not_be_extended_are_tried_again_soon(
    seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    worker_run = a_run()
    begun(worker_run, 1, seconds[0])
    answers = [StoreUnavailable("no route to host")]

    def answer(step: Any) -> Any:
        if isinstance(step, Extend) and answers:
            raise answers.pop()
        return []

    first, second, *_ = extensions(keep(worker_run, seconds, 15.0, answer))
    assert (first, second < first + 5) == (pytest.approx(10, abs=0.1), True)
    assert "cannot extend leases on" in caplog.text


@pytest.mark.parametrize(("lease", "after"), [(30.0, TOO_LONG), (6.0, 1.0)])
def test_messages_that_wait_too_long_for_a_handler_are_given_back(
    seconds: list[float], lease: float, after: float
) -> None:
    worker_run = a_run(lease)
    worker_run.in_flight.waiting.extend(begun(worker_run, 1, seconds[0]))
    settled: list[Any] = []

    def answer(step: Any) -> Any:
        if isinstance(step, Settle):
            settled.extend(how for _, how in step.pairs)
        return []

    steps = keep(worker_run, seconds, 5.0, answer)
    assert [type(step) for _, step in steps] == [Settle, Freed]
    assert [at for at, _ in steps] == pytest.approx([after, after], abs=0.1)
    assert settled == [Release()]
    assert steps[-1][1] == Freed(wake=False)
    assert not worker_run.in_flight.held


def test_progress_that_could_not_be_written_is_written_later_and_once(
    seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    worker_run = a_run()
    [attempt] = begun(worker_run, 1, seconds[0])
    attempt.unwritten = True
    answers = [StoreUnavailable("no route to host")]

    def answer(step: Any) -> Any:
        if isinstance(step, WriteProgress) and answers:
            raise answers.pop()
        return []

    steps = keep(worker_run, seconds, 6.0, answer)
    assert [step.attempts for _, step in steps if isinstance(step, WriteProgress)] == [[attempt], [attempt]]
    assert "cannot write progress of messages of" in caplog.text
    assert not attempt.unwritten


def test_cancellations_are_watched_once_a_handler_runs_for_long(
    seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_run = a_run()
    monkeypatch.setattr(module, "handles_long", lambda worker_run: seconds[0] >= 1003.0)
    watched = [at for at, step in keep(worker_run, seconds, 9.0) if isinstance(step, WatchCancellations)]
    assert watched == [3.0]
