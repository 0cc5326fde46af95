"""How a run is watched over and wound down, with a time that passes at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import Release, Rollback
from duerow.errors import TimedOut
from duerow.plan import Plan, run
from duerow.retry import fixed, limited
from duerow.worker import in_flight, supervisor
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Slot
from duerow.worker.run import Options, Run
from duerow.worker.supervisor import (
    FETCHER,
    LAST_WORDS,
    PATIENCE,
    PERMITS,
    SETTLER,
    DropSlot,
    LeftOver,
    NextEvent,
    StartSlot,
    Stop,
    Supervisor,
)

GRACE = 10.0
RETRY = timedelta(seconds=30)


class Stage:
    """Carries out the steps of a supervisor, and lets things happen at some times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, timeout: float | None = None) -> None:
        self.now = 1000.0
        for module in (supervisor, in_flight):
            monkeypatch.setattr(module, "monotonic", lambda: self.now)
        options = Options(
            batch=10,
            concurrency=2,
            lease=timedelta(minutes=1),
            retry=limited(5, fixed(RETRY)),
            timeout=None if timeout is None else timedelta(seconds=timeout),
            poll=None,
            grace=timedelta(seconds=GRACE),
            name="anna",
        )
        self.run = Run("mail", options, None)
        self.supervisor = Supervisor(self.run)
        self.at: dict[float, Callable[[], Any]] = {}
        self.steps: list[str] = []
        self.waits: list[float | None] = []
        self.dropped: list[Slot] = []

    def __call__(self, step: Any) -> Any:
        if isinstance(step, NextEvent):
            self.waits.append(step.seconds)
            until = self.now + (1e6 if step.seconds is None else step.seconds)
            coming = min((moment for moment in self.at if moment <= until), default=None)
            self.now = until if coming is None else max(self.now, coming)
            return None if coming is None else self.at.pop(coming)()
        self.steps.append(type(step).__name__)
        if isinstance(step, DropSlot):
            self.dropped.append(step.slot)
        return None

    def carry_out(self, plan: Plan[None]) -> None:
        run(plan, self)

    def handling(self, *queues: str) -> tuple[Slot, Attempt]:
        """Begin to handle a message in a slot of its own."""
        with duerow.connect("memory://") as database:
            queue = database.queue("mail")
            queue.push(1)
            reservation = queue.reserve()
        assert reservation is not None
        [attempt] = self.run.in_flight.take_in([reservation], self.now)
        slot = Slot()
        slot.begin(attempt)
        self.run.slots.add(slot)
        self.supervisor.staff.add(slot)
        return slot, attempt

    def ended(self) -> list[tuple[Attempt, Any]]:
        return [(one.attempt, one.settlement) for one in self.run.in_flight.take_ended(100)]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_a_run_is_watched_until_it_is_over_stopped_or_a_part_of_it_fails(stage: Stage) -> None:
    stage.at[1003] = Stop
    stage.carry_out(stage.supervisor.watch())
    assert (stage.now, stage.waits) == (1003, [None])
    assert not stage.supervisor.hurry


def test_a_second_stop_leaves_handlers_no_grace(stage: Stage) -> None:
    stage.handling()
    stage.at = {1001: Stop, 1003: Stop}
    stage.carry_out(stage.supervisor.watch())
    stage.supervisor.staff.add(SETTLER)
    stage.at[1004] = lambda: LeftOver(SETTLER)
    stage.carry_out(stage.supervisor.wind_down())
    assert stage.now == 1004


def test_a_part_that_fails_ends_the_run_with_its_error_and_the_first_one_counts(stage: Stage) -> None:
    stage.supervisor.staff |= {FETCHER, SETTLER}
    stage.at = {
        1001: lambda: LeftOver(FETCHER, ValueError("first")),
        1002: lambda: LeftOver(SETTLER, ValueError("second")),
    }
    stage.carry_out(stage.supervisor.watch())
    assert stage.now == 1001
    with pytest.raises(ValueError, match="first"):
        stage.carry_out(stage.supervisor.wind_down())
    assert stage.now == 1002


def test_a_handler_that_outlasts_the_timeout_fails_its_attempt_and_its_slot_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch, timeout=5)
    slot, attempt = stage.handling()
    stage.at[1007] = Stop
    stage.carry_out(stage.supervisor.watch())
    assert stage.waits[:1] == [5]
    assert stage.steps == ["DropSlot", "TurnsEnded", "StartSlot"]
    assert (stage.dropped, slot.abandoned, slot in stage.run.slots) == ([slot], True, False)
    [(ended, settlement)] = stage.ended()
    assert ended is attempt
    assert isinstance(settlement, Rollback)
    assert settlement.delay == RETRY
    assert isinstance(attempt.error, TimedOut)
    assert attempt.seconds == 5.0


def test_a_handler_within_its_timeout_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, timeout=5)
    stage.handling()
    stage.at = {1002: lambda: None, 1004: Stop}
    stage.carry_out(stage.supervisor.watch())
    assert stage.waits == [5, 3]
    assert stage.steps == []


def test_handlers_that_may_begin_now_are_looked_at_after_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, timeout=5)
    stage.at = {1003: Stop}
    stage.carry_out(stage.supervisor.watch())
    assert stage.waits == [5]


def test_what_has_not_begun_is_given_back_when_a_run_winds_down(stage: Stage) -> None:
    _, attempt = stage.handling()
    stage.run.slots.clear()
    stage.supervisor.staff.clear()
    stage.run.in_flight.waiting.append(attempt)
    stage.carry_out(stage.supervisor.wind_down())
    assert stage.ended() == [(attempt, Release())]
    assert (stage.run.over, stage.run.closing, stage.run.gave_up) == (True, True, True)
    assert stage.steps == ["AllChanged"] * 3


def test_a_handler_that_ends_within_the_grace_is_waited_for(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "duerow.worker")
    slot, attempt = stage.handling()
    stage.at[1004] = lambda: slot.end() and LeftOver(slot)
    stage.carry_out(stage.supervisor.wind_down())
    assert (stage.now, stage.waits) == (1004, [GRACE])
    assert (slot.abandoned, attempt.error, stage.dropped) == (False, None, [])
    assert caplog.records[0].getMessage() == "stopping on mail: 1 handlers are running, 0 messages are released"


def test_a_handler_that_outlasts_the_grace_is_given_up_and_its_message_is_due_again_at_once(stage: Stage) -> None:
    slot, attempt = stage.handling()
    stage.carry_out(stage.supervisor.wind_down())
    assert stage.now == 1000 + GRACE
    [(ended, settlement)] = stage.ended()
    assert (ended, settlement.delay) == (attempt, timedelta(0))
    assert slot.abandoned
    assert "grace" in str(attempt.error)
    assert stage.steps.count(StartSlot.__name__) == 0


def test_a_timeout_counts_during_the_grace_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, timeout=5)
    stage.handling()
    stage.carry_out(stage.supervisor.wind_down())
    assert stage.waits == [5]
    assert [settlement.delay for _, settlement in stage.ended()] == [RETRY]
    assert "StartSlot" not in stage.steps


def test_the_settler_and_permits_have_their_own_time_after_the_handlers(stage: Stage) -> None:
    stage.supervisor.staff |= {SETTLER, PERMITS}
    closing: list[tuple[float, bool]] = []
    stage.at[1000 + PATIENCE / 2] = lambda: closing.append((stage.now, stage.run.gave_up)) or LeftOver(PERMITS)
    stage.carry_out(stage.supervisor.wind_down())
    assert closing == [(1000 + PATIENCE / 2, False)]
    assert stage.now == 1000 + PATIENCE + LAST_WORDS
    assert stage.waits == [PATIENCE, PATIENCE / 2, LAST_WORDS]
