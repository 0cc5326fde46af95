"""When a worker looks at the schedules: its plan is carried out here by hand, with a time that passes at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.plan import run
from duerow.queue.history import PRUNE_BATCH
from duerow.queue.limits import NONE, RunLimits
from duerow.queue.schedule import Maintained
from duerow.worker.maintenance import (
    LOOK,
    SETTLED_IN,
    SHORTEST_REST,
    KeepPeriods,
    LookForUnknown,
    Maintain,
    Maintenance,
    Present,
    Prune,
    ReadLimits,
    RestUntil,
    TellDifferences,
)
from duerow.worker.run import Run
from duerow.worker.supervisor import AllChanged, StartSlot
from tests.unit.worker.test_fetcher import a_run


def pauses(
    look: Callable[[], Maintained], rounds: int = 3, worker_run: Run | None = None, pruned: Sequence[int] = ()
) -> list[float]:
    """Let a worker look so many times; return how long it pauses after each. Its own work went first."""
    batches = iter(pruned)
    worker_run = worker_run or a_run()
    rests: list[float] = []

    def carry_out(step: Any) -> Any:
        if isinstance(step, Maintain):
            return look()
        if isinstance(step, ReadLimits):
            return NONE
        if isinstance(step, KeepPeriods | Present | StartSlot | TellDifferences | LookForUnknown):
            return None
        if isinstance(step, Prune):
            return next(batches, 0)
        assert isinstance(step, RestUntil)
        rests.append(step.seconds)
        worker_run.over = worker_run.over or len(rests) > rounds
        return None

    run(Maintenance(worker_run).tick(), carry_out)
    assert rests[0] == SETTLED_IN
    return rests[1:]


@pytest.mark.parametrize(
    ("next_in", "pause"),
    [
        (None, LOOK),
        (timedelta(seconds=3), 3.0),
        (timedelta(hours=3), LOOK),
        (timedelta(microseconds=1), SHORTEST_REST),
        (timedelta(seconds=-3), SHORTEST_REST),
    ],
)
def test_it_sleeps_until_the_next_tick_but_looks_now_and_then(next_in: timedelta | None, pause: float) -> None:
    assert pauses(lambda: Maintained(0, next_in, {}), rounds=2) == [pause, pause]


def test_a_schedule_that_cannot_tick_is_told_once_and_tried_seldom(caplog: pytest.LogCaptureFixture) -> None:
    done = Maintained(0, timedelta(seconds=-5), {"nightly": ConfigurationError("no such zone")})
    with caplog.at_level(logging.INFO, "duerow.worker"):
        assert pauses(lambda: done) == [LOOK] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "schedule nightly cannot tick: ConfigurationError: no such zone; trying again from time to time"
    ]


def test_a_database_that_is_away_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[Maintained | StoreUnavailable] = [StoreUnavailable("it is away")] * 3
    answers += [Maintained(0, None, {}), StoreUnavailable("it is away")]

    def look() -> Maintained:
        answer = answers.pop(0)
        if isinstance(answer, StoreUnavailable):
            raise answer
        return answer

    first, second, third, there, again = pauses(look, rounds=5)
    assert first <= 0.1
    assert second <= 0.2
    assert 0.2 <= third <= 0.4
    assert there == LOOK
    assert again <= 0.1


def test_what_was_kept_long_enough_is_taken_away_bit_by_bit_between_looks_at_the_schedules() -> None:
    looks: list[Maintained] = []

    def look() -> Maintained:
        looks.append(Maintained(0, None, {}))
        return looks[-1]

    batches = [PRUNE_BATCH, PRUNE_BATCH, 7, PRUNE_BATCH]
    assert pauses(look, rounds=4, pruned=batches) == [SHORTEST_REST, SHORTEST_REST, LOOK, LOOK]
    assert len(looks) == 4


def test_nothing_is_looked_at_when_the_shift_is_over() -> None:
    worker_run = a_run()
    worker_run.over = True
    assert pauses(lambda: pytest.fail("it looked"), worker_run=worker_run) == []


@pytest.mark.parametrize(("limits", "told"), [(NONE, False), (RunLimits(concurrency=3), True)])
def test_when_a_limit_has_changed_a_fetcher_that_waits_for_room_is_told(limits: RunLimits, told: bool) -> None:
    worker_run, steps = a_run(), list[Any]()

    def carry_out(step: Any) -> Any:
        steps.append(step)
        if isinstance(step, ReadLimits):
            return limits
        return Maintained(0, None, {}) if isinstance(step, Maintain) else 0

    run(Maintenance(worker_run).look(), carry_out)
    assert any(isinstance(step, AllChanged) for step in steps) is told
