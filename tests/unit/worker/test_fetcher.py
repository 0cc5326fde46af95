"""When a worker asks for messages: its plan is carried out here by hand, with a time that passes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from duerow.errors import StoreUnavailable
from duerow.plan import run
from duerow.retry import DEFAULT
from duerow.worker.fetcher import Fetcher, NextDue, Reserve, Sleep
from duerow.worker.run import Options, Run, Until
from duerow.worker.settler import Settler

Answers = dict[type, Callable[[Any], Any]]


def a_run(until: Until = None) -> Run:
    options = Options(
        batch=10,
        concurrency=1,
        lease=timedelta(minutes=1),
        retry=DEFAULT,
        timeout=None,
        poll=None,
        grace=timedelta(seconds=1),
        name="anna",
    )
    return Run("mail", options, until)


class Idle:
    """Carries out the steps of a worker with nothing to do, and counts what it asks the database for."""

    def __init__(self, worker_run: Run, seconds: float, answers: Answers | None = None) -> None:
        self.worker_run, self.left, self.answers = worker_run, seconds, answers or {}
        self.now = 0.0
        self.asked: Counter[str] = Counter()
        self.sleeps: list[float] = []

    def __call__(self, step: Any) -> Any:
        self.asked[type(step).__name__] += 1
        if type(step) in self.answers:
            return self.answers[type(step)](step)
        if isinstance(step, Reserve):
            return []
        if isinstance(step, Sleep):
            self.sleeps.append(step.seconds)
            self.now += step.seconds
            self.worker_run.over = self.now >= self.left
            return False
        return None

    @property
    def statements(self) -> int:
        return self.asked["Reserve"] + self.asked["NextDue"]


@pytest.mark.parametrize("hears", [True, False])
def test_an_idle_worker_asks_at_most_three_times_a_second(hears: bool) -> None:
    worker_run = a_run()
    worker_run.hears = hears
    idle = Idle(worker_run, seconds=60)
    run(Fetcher(worker_run).next(10), idle)
    assert idle.statements / idle.now <= 3
    worker_run.over, idle.left = False, 120
    asked, since = idle.statements, idle.now
    run(Fetcher(worker_run).next(10), idle)
    assert (idle.statements - asked) / (idle.now - since) <= 3
    assert max(idle.sleeps) <= (5 if hears else 1)


def test_it_sleeps_until_the_next_message_is_due_and_then_claims_first() -> None:
    worker_run = a_run()
    order: list[str] = []
    due_in = iter([timedelta(milliseconds=3), None])

    def reserve(step: Reserve) -> list[Any]:
        order.append("claim")
        return []

    def next_due(step: NextDue) -> timedelta | None:
        order.append("next due")
        return next(due_in)

    def sleep(step: Sleep) -> bool:
        order.append(f"sleep {step.seconds:.3f}" if step.seconds == 0.003 else "sleep")
        worker_run.over = order.count("sleep") > 0
        return False

    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, {Reserve: reserve, NextDue: next_due, Sleep: sleep}))
    assert order == ["claim", "next due", "claim", "sleep 0.003", "claim", "next due", "claim", "sleep"]


def test_after_a_push_it_claims_before_it_asks_anything_else() -> None:
    worker_run = a_run()
    order: list[str] = []

    def sleep(step: Sleep) -> bool:
        order.append("woken")
        worker_run.over = len(order) > 8
        return True

    def note(name: str, answer: Any) -> Callable[[Any], Any]:
        return lambda step: order.append(name) or answer

    answers: Answers = {Reserve: note("claim", []), NextDue: note("next due", None), Sleep: sleep}
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))
    assert order[order.index("woken") + 1] == "claim"


def test_what_is_settled_during_the_last_look_ends_the_sleep_after_it() -> None:
    worker_run = a_run(until="empty")
    told: list[bool] = []

    def reserve(step: Reserve) -> list[Any]:
        told.append(Settler(worker_run).settled([]).wake)  # the claim has looked already, and saw nothing of this
        return []

    def sleep(step: Sleep) -> bool:
        worker_run.over = len(told) > 1
        return False

    answers: Answers = {Reserve: reserve, NextDue: lambda step: timedelta(minutes=1), Sleep: sleep}
    run(Fetcher(worker_run).next(1), Idle(worker_run, 60, answers))
    assert told == [False, True]


def test_a_server_that_is_away_is_asked_seldom() -> None:
    worker_run = a_run()

    def away(step: Any) -> Any:
        raise StoreUnavailable("it is away")

    idle = Idle(worker_run, seconds=600, answers={Reserve: away})
    run(Fetcher(worker_run).next(1), idle)
    assert idle.statements < 300
    assert idle.sleeps[0] <= 0.1
    assert max(idle.sleeps) <= 5
