"""How handlers learn that their messages were cancelled, and operators where handlers are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow.errors import LeaseLost, MessageGone, StoreUnavailable
from duerow.plan import run
from duerow.retry import DEFAULT
from duerow.store import Refused
from duerow.worker import cancellation, in_flight
from duerow.worker.attempt import Attempt
from duerow.worker.cancellation import (
    BREATHER,
    LONG,
    AnswerQuestions,
    AwaitCancellation,
    CancellationWatch,
    FindLost,
    lose,
)
from duerow.worker.cluster_limit import AwaitChange
from duerow.worker.in_flight import Slot
from duerow.worker.run import Options, Run


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock."""
    now = [1000.0]
    for module in (cancellation, in_flight):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def a_run() -> Run:
    options = Options(
        batch=10,
        concurrency=2,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=timedelta(seconds=4),
        grace=timedelta(seconds=1),
        name="anna",
    )
    return Run("mail", options, None)


def taken(worker_run: Run, count: int) -> list[Attempt]:
    with duerow.connect("memory://") as database:
        queue = database.queue("mail")
        queue.push_many(duerow.Draft(number) for number in range(count))
        return worker_run.in_flight.take_in(queue.reserve_many(count), 1000.0)


def watched(worker_run: Run, *answers: Callable[[Any], Any]) -> list[tuple[str, Any]]:
    """Carry out a watch with these answers, and let the run close after them; return its steps."""
    left, steps = list(answers), list[tuple[str, Any]]()

    def answer(step: Any) -> Any:
        steps.append((type(step).__name__, getattr(step, "seconds", None)))
        if len(left) == 1:
            worker_run.closing = True
        return left.pop(0)(step)

    run(CancellationWatch(worker_run).watch(), answer)
    return steps


def begin(worker_run: Run, attempt: Attempt) -> None:
    slot = Slot()
    slot.begin(attempt)
    worker_run.slots.add(slot)


def test_nothing_is_watched_until_a_handler_runs_for_long(seconds: list[float]) -> None:
    worker_run = a_run()
    [attempt] = taken(worker_run, 1)
    worker_run.slots.add(Slot())

    def begins(step: Any) -> None:
        seconds[0] += LONG
        begin(worker_run, attempt)

    def goes_on(step: Any) -> None:
        seconds[0] += LONG

    steps = watched(worker_run, begins, goes_on, lambda step: False)
    assert steps == [("AwaitChange", LONG), ("AwaitChange", LONG), ("AwaitCancellation", 4.0)]


def test_after_a_call_it_finds_the_lost_answers_questions_and_takes_a_breath(seconds: list[float]) -> None:
    worker_run = a_run()
    ours, gone, ended = taken(worker_run, 3)
    ended.finished = True
    begin(worker_run, ours)
    seconds[0] += LONG
    asked: list[Any] = []

    def find(step: FindLost) -> list[Refused]:
        assert {one.receipt for one in step.reservations} == {ours.reservation.receipt, gone.reservation.receipt}
        return [Refused(gone.reservation.receipt, MessageGone(gone.message.id))]

    steps = watched(worker_run, lambda step: True, find, lambda step: asked.extend(step.attempts), lambda step: None)
    assert [name for name, _ in steps] == ["AwaitCancellation", "FindLost", "AnswerQuestions", "AwaitChange"]
    assert steps[-1] == ("AwaitChange", BREATHER)
    assert asked == [ours]
    assert gone.cancelled
    assert not ours.over


def test_a_wait_without_a_call_is_followed_by_another_wait(seconds: list[float]) -> None:
    worker_run = a_run()
    [attempt] = taken(worker_run, 1)
    begin(worker_run, attempt)
    seconds[0] += LONG
    assert watched(worker_run, lambda step: False, lambda step: False) == [("AwaitCancellation", 4.0)] * 2


def test_a_look_that_fails_is_made_later_although_no_further_call_comes(
    seconds: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    worker_run = a_run()
    [attempt] = taken(worker_run, 1)
    begin(worker_run, attempt)
    seconds[0] += LONG

    def fails(step: Any) -> None:
        raise StoreUnavailable("it is away")

    nothing: list[Callable[[Any], Any]] = [lambda step: None, lambda step: [], lambda step: None, lambda step: None]
    steps = watched(worker_run, lambda step: True, fails, *nothing)
    assert [name for name, _ in steps[:5]] == [
        AwaitCancellation.__name__,
        FindLost.__name__,
        AwaitChange.__name__,
        FindLost.__name__,
        AnswerQuestions.__name__,
    ]
    [record] = caplog.records
    assert record.getMessage().startswith("cannot listen for cancelled messages of mail: StoreUnavailable: it is away")


def test_many_messages_are_looked_at_in_parts(seconds: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancellation, "MOST_AT_ONCE", 2)
    worker_run = a_run()
    attempts = taken(worker_run, 5)
    begin(worker_run, attempts[0])
    seconds[0] += LONG
    looked: list[int] = []

    def find(step: FindLost) -> list[Refused]:
        looked.append(len(step.reservations))
        return []

    watched(worker_run, lambda step: True, *[find, lambda step: None] * 3, lambda step: None)
    assert looked == [2, 2, 1]


def test_of_lost_messages_those_that_have_not_begun_are_dropped_and_decided_ones_are_left_alone() -> None:
    worker_run = a_run()
    decided, running, waiting, ours = attempts = taken(worker_run, 4)
    decided.finished = True
    worker_run.in_flight.waiting.append(waiting)
    lose(worker_run, attempts, {one.reservation.receipt: LeaseLost(1) for one in (decided, running, waiting)})
    assert [one.over for one in attempts] == [False, True, True, False]
    assert worker_run.in_flight.held == {decided, running, ours}
    lose(worker_run, attempts, {})
    assert not ours.over
