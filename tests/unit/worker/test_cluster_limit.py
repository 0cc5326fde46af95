"""A run claims as much as the permits allow that are surely its own; its plan is carried out here by hand."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from duerow.errors import LeaseLost, StoreUnavailable
from duerow.plan import run
from duerow.queue.limits import RunLimits
from duerow.retry import DEFAULT
from duerow.settlement import Release
from duerow.store import Refused
from duerow.worker import cluster_limit as module
from duerow.worker.budget import Budget
from duerow.worker.cluster_limit import (
    AwaitChange,
    ExtendPermits,
    GivePermits,
    MakePermits,
    Permits,
    RecallBegun,
    TakePermits,
)
from duerow.worker.run import Options, Run

LEASE = 60.0


class Office:
    """Carries out the steps of a plan, as its script says, with a time that passes while it waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.worker_run = Run(
            "mail",
            Options(
                batch=10,
                concurrency=4,
                lease=timedelta(seconds=LEASE),
                retry=DEFAULT,
                timeout=None,
                poll=None,
                grace=timedelta(0),
                name="anna",
                **options,
            ),
            None,
        )
        self.now = 1000.0
        self.free = [0, 1, 2]
        self.allowed: list[tuple[float, int]] = []
        self.given: list[list[int]] = []
        self.lost: set[int] = set()
        self.away = False
        self.begun: list[tuple[float, int]] = []
        self.unread = False
        self.until = 1000.0 + 10 * LEASE
        self.at: dict[float, Any] = {}
        monkeypatch.setattr(module, "monotonic", lambda: self.now)

    def __call__(self, step: Any) -> Any:
        self.allowed.append((self.now, self.worker_run.in_flight.room()))
        if isinstance(step, AwaitChange):
            assert step.seconds <= LEASE / 3
            self.now += step.seconds
            for moment in [moment for moment in self.at if moment <= self.now]:
                self.at.pop(moment)()
            self.worker_run.closing = self.now >= self.until
        elif isinstance(step, GivePermits):
            self.given.append([one.message.payload for one in step.reservations])
        elif isinstance(step, RecallBegun):
            if self.away or self.unread:
                raise StoreUnavailable("it is away")
            return self.begun
        elif isinstance(step, TakePermits | ExtendPermits | MakePermits) and self.away:
            raise StoreUnavailable("it is away")
        elif isinstance(step, TakePermits):
            taken, self.free = self.free[: step.limit], self.free[step.limit :]
            return [reservation(number) for number in taken]
        elif isinstance(step, ExtendPermits):
            lost = [one for one in step.reservations if one.message.payload in self.lost]
            return [Refused(one.receipt, LeaseLost(1)) for one in lost]
        return None

    def work(self) -> None:
        run(Permits(self.worker_run).keep(), self)

    def room_at(self, seconds: float) -> int:
        """What could be claimed so many seconds after the start."""
        return [room for moment, room in self.allowed if moment <= 1000.0 + seconds][-1]


def reservation(number: int) -> Any:
    return SimpleNamespace(receipt=number, message=SimpleNamespace(payload=number, id=number))


def test_nothing_is_claimed_without_a_permit(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(monkeypatch, singleton=True)
    office.free = []
    office.at[1000 + 5] = lambda: office.free.append(0)
    office.work()
    assert office.room_at(4) == 0
    assert office.room_at(8) > 0
    assert office.given == [[0]]


def test_a_lost_permit_ends_claiming_and_gives_back_what_was_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(monkeypatch, singleton=True)
    attempt: Any = SimpleNamespace(finished=False)
    office.at[1000 + LEASE] = lambda: (office.lost.add(0), office.free.clear())
    office.worker_run.in_flight.waiting.append(attempt)
    office.work()
    assert office.room_at(LEASE / 2) > 0
    assert office.room_at(2 * LEASE) == 0
    [ended] = office.worker_run.in_flight.ended
    assert (ended.attempt, ended.settlement) == (attempt, Release())


def test_while_the_database_is_away_a_permit_is_good_for_its_lease_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office(monkeypatch, singleton=True)
    office.at[1001] = lambda: setattr(office, "away", True)
    office.work()
    assert office.room_at(LEASE - 10) > 0
    assert office.room_at(LEASE + 10) == 0


def test_a_worker_that_waits_for_its_database_stops_claiming_the_moment_its_permit_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module.Backoff, "next", lambda *_: 7.0)  # which does not end when the lease does
    office = Office(monkeypatch, singleton=True)
    office.at[1001] = lambda: setattr(office, "away", True)
    office.work()
    assert max(now for now, room in office.allowed if room) == 1000.0 + LEASE


def test_each_handler_has_a_permit(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(monkeypatch, cluster_concurrency=3)
    office.free = [0, 2]
    office.at[1000 + 5] = lambda: office.free.append(1)
    office.work()
    assert [office.room_at(2), office.room_at(8)] == [2, 3]
    assert sorted(office.given[-1]) == [0, 1, 2]


def throttled(monkeypatch: pytest.MonkeyPatch) -> tuple[Office, Budget]:
    """A singleton that may begin 10 messages in 100 seconds."""
    rate = (10, timedelta(seconds=100))
    budget = Budget(rate, lambda: office.now)
    office = Office(monkeypatch, singleton=True, rate=rate, budget=budget)
    return office, budget


def test_a_worker_that_takes_over_counts_what_others_began(monkeypatch: pytest.MonkeyPatch) -> None:
    office, budget = throttled(monkeypatch)
    office.begun = [(90.0, 4), (30.0, 5), (500.0, 1)]
    office.until = office.now + 15
    office.work()
    assert budget.room() == 0
    office.now = 1000 + 30
    assert budget.room() == 5
    office.now = 1000 + 100  # also what was begun under a rate with a longer span
    assert budget.room() == 10


def test_as_long_as_nobody_knows_what_others_began_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    office, _ = throttled(monkeypatch)
    office.unread = True
    office.at[1000 + 30] = lambda: setattr(office, "unread", False)
    office.work()
    assert office.room_at(20) == 0
    assert office.room_at(70) > 0


def test_an_operator_may_let_all_workers_together_have_fewer_permits_or_more(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(monkeypatch, cluster_concurrency=3)
    office.at[1000 + 10] = lambda: office.worker_run.limit(RunLimits(cluster_concurrency=1))
    office.at[1000 + 100] = lambda: (
        office.worker_run.limit(RunLimits(concurrency=2, cluster_concurrency=5)),
        office.free.extend([1, 3]),
    )
    office.work()
    assert office.room_at(5) == 3
    assert office.given[0] == [1, 2]
    assert office.room_at(60) == 1
    assert office.room_at(150) == 2
