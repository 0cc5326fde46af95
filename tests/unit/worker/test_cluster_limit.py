"""A run claims as much as the permits allow that are surely its own; its plan is carried out here by hand."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from math import ceil
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
    permit_queue,
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
        self.for_good: list[bool] = []
        self.made: list[int] = []
        self.extended: list[float] = []
        self.keeps = False
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
            self.now = ceil((self.now + step.seconds) * 1024) / 1024  # so that sums and differences are exact
            for moment in [moment for moment in self.at if moment <= self.now]:
                self.at.pop(moment)()
            self.worker_run.closing = self.now >= self.until
        elif isinstance(step, GivePermits):
            if self.keeps:
                raise StoreUnavailable("it is away")
            self.for_good.append(step.for_good)
            self.given.append([one.message.payload for one in step.reservations])
        elif isinstance(step, RecallBegun):
            if self.away or self.unread:
                raise StoreUnavailable("it is away")
            return self.begun
        elif isinstance(step, TakePermits | ExtendPermits | MakePermits) and self.away:
            raise StoreUnavailable("it is away")
        elif isinstance(step, MakePermits):
            self.made.append(step.total)
        elif isinstance(step, TakePermits):
            taken, self.free = self.free[: step.limit], self.free[step.limit :]
            return [reservation(number) for number in taken]
        elif isinstance(step, ExtendPermits):
            self.extended.append(self.now)
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


def test_a_worker_takes_no_more_permits_than_it_has_handlers_and_none_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office(monkeypatch, cluster_concurrency=9)
    office.free = [0, 2, 9, 11, 4, 5]  # the limit used to be higher
    office.work()
    assert office.room_at(0.5) == 2
    assert office.given[0] == [9, 11]
    assert office.room_at(5) == 4
    assert sorted(office.given[-1]) == [0, 2, 4, 5]
    assert office.for_good == [True, False]


def test_permits_are_made_once_and_again_if_some_were_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(monkeypatch, cluster_concurrency=3)
    office.at[1000 + LEASE] = lambda: (office.lost.add(0), office.free.append(0))
    office.at[1000 + LEASE + 10] = office.lost.clear
    office.work()
    assert office.made == [3, 3]


def test_permits_are_made_again_if_operators_allow_more_of_them_but_not_for_fewer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office(monkeypatch, cluster_concurrency=2)
    office.free = [0, 1]
    office.at[1000 + 10] = lambda: office.worker_run.limit(RunLimits(cluster_concurrency=1))
    office.at[1000 + 100] = lambda: office.worker_run.limit(RunLimits(cluster_concurrency=3))
    office.work()
    assert office.made == [2, 3]


def test_leases_of_permits_are_extended_at_every_third_of_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(monkeypatch, singleton=True)
    office.until = 1000.0 + LEASE + 1
    office.work()
    assert office.extended == [1000.0 + LEASE / 3, 1000.0 + 2 * LEASE / 3, 1000.0 + LEASE]


def test_of_permits_that_operators_withdraw_those_that_are_in_use_are_kept_until_their_messages_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office(monkeypatch, cluster_concurrency=4)
    office.free = [0, 1, 2, 3]
    busy: list[Any] = [object() for _ in range(3)]
    office.worker_run.in_flight.held.update(busy)
    office.at[1000 + 10] = lambda: office.worker_run.limit(RunLimits(concurrency=1))
    office.work()
    assert office.given[0] == [3]
    assert office.for_good[0] is False


def test_the_log_says_when_permits_cannot_be_had_and_when_they_can_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "duerow.worker")
    office = Office(monkeypatch, singleton=True)
    office.away = True
    office.at[1000 + 1] = lambda: setattr(office, "away", False)
    office.work()
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("cannot get permits of mail: StoreUnavailable: it is away; trying again in ")
    assert "can get permits of mail again" in said


def test_permits_that_cannot_be_given_back_are_free_at_the_end_of_their_lease_as_the_log_says(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    office = Office(monkeypatch, singleton=True)
    office.keeps = True
    office.work()
    [said] = [record.getMessage() for record in caplog.records if "give back" in record.getMessage()]
    assert said == "cannot give back permits of mail: StoreUnavailable: it is away; trying again in 60.0 s"


def test_queues_in_any_order_share_their_permits_and_a_name_that_is_too_long_is_replaced() -> None:
    assert permit_queue("concurrency", ["mail"]).endswith("mail")
    one, other = permit_queue("concurrency", ["a", "b"]), permit_queue("concurrency", ["b", "a"])
    assert one == other != permit_queue("concurrency", ["a", "c"])
    assert one.endswith(sha256(b"a,b").hexdigest()[:32])
    long = permit_queue("concurrency", ["x" * 200])
    assert long.endswith(sha256(b"x" * 200).hexdigest()[:32])
