"""Permits limit the cluster to one active worker, or to a number of concurrent handlers."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from duerow import Draft, Message, current, fixed
from duerow.errors import LeaseLost
from duerow.testing.clock import MovableClock
from duerow.testing.worker_harness import Gate, Workshop, eventually

SOON = timedelta(milliseconds=300)
OFTEN = 0.05
"""Seconds after which workers look for permits again, so that these tests do not wait."""


def who() -> str:
    """Return the name of the worker that has the message in hand."""
    attempt = current()
    assert attempt is not None
    holder = attempt.message.leased_by or ""
    return holder.rpartition(":")[2].partition("/")[0]


def test_one_worker_is_active_and_the_next_takes_over_when_it_ends(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.worker.cluster_limit.POLL", OFTEN)
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(who())

    def push(count: int) -> None:
        already = len(seen)
        shop.queue.push_many([Draft(number) for number in range(count)])
        eventually(lambda: len(seen) == already + count)

    first = shop.start(handle, singleton=True, name="anna", concurrency=2)
    push(5)
    second = shop.start(handle, singleton=True, name="berta", concurrency=2)
    push(20)
    assert set(seen) == {"anna"}
    first.stop()
    first.join()
    push(5)
    assert seen[25:] == ["berta"] * 5
    second.stop()
    second.join()


def test_the_next_worker_takes_over_when_the_lease_of_one_that_died_has_ended(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.worker.cluster_limit.POLL", OFTEN)
    permits = shop.db.queue("duerow/singleton/mail", retry=fixed(timedelta(0)))
    permits.push(0, key="0")
    of_the_dead = permits.reserve(lease=SOON)
    assert of_the_dead is not None
    shop.queue.push("hello")
    refused: list[bool] = []

    async def handle(message: Message) -> None:
        try:
            permits.extend(of_the_dead)
        except LeaseLost:
            refused.append(True)

    shop.work(handle, singleton=True)
    assert refused == [True]


def test_all_workers_together_run_so_many_handlers(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(30)])
    running: set[int] = set()
    counted: list[int] = []
    guard = threading.Lock()
    gate = Gate()

    async def handle(message: Message) -> None:
        with guard:
            running.add(message.id)
            counted.append(len(running))
        await gate.passed()
        with guard:
            running.discard(message.id)

    workers = [shop.start(handle, "empty", cluster_concurrency=3, concurrency=2) for _ in range(2)]
    eventually(lambda: len(running) == 3)
    assert shop.queue.count() == 30
    gate.open()
    for worker in workers:
        worker.join()
    assert len(counted) == 30
    assert max(counted) == 3


@pytest.mark.parametrize("terms", [{"singleton": True}, {"cluster_concurrency": 2, "concurrency": 4}])
@pytest.mark.parametrize("how", [{"batch": 1}, {"batch": 10}, {"batch": 10, "whole_batch": True}])
def test_every_message_is_handled_once_and_the_permits_are_given_back(
    shop: Workshop, terms: dict[str, Any], how: dict[str, Any], scale: int
) -> None:
    shop.queue.push_many([Draft(number) for number in range(20 * scale)])
    seen: list[int] = []

    async def handle(subject: Any) -> None:
        seen.extend(one.payload for one in (subject if isinstance(subject, list) else [subject]))

    shop.work(handle, "empty", **terms, **how)
    assert sorted(seen) == list(range(20 * scale))
    (name,) = shop.db.queues(reserved=True)
    left = shop.db.queue(name).find()
    assert [one.payload for one in left] == list(range(terms.get("cluster_concurrency", 1)))
    assert {(one.leased_by, one.attempts) for one in left} == {(None, 0)}


@pytest.mark.parametrize("terms", [{"singleton": True, "rate": (10, timedelta(minutes=1))}, {"cluster_concurrency": 2}])
def test_the_queues_of_permits_are_not_listed_among_those_of_the_application(
    shop: Workshop, terms: dict[str, Any]
) -> None:
    shop.queue.push("hello")

    async def handle(message: Message) -> None:
        pass

    shop.work(handle, "idle", **terms)
    names = set(shop.db.known_queues(reserved=True)) - {"mail"}
    assert names
    assert all(name.startswith("duerow/") for name in names)
    assert shop.db.known_queues() == ["mail"]
    assert shop.db.queues() == []
    assert set(shop.db.queues(reserved=True)) == names


def test_permits_are_kept_for_as_long_as_handlers_run(shop: Workshop) -> None:
    shop.queue.push("hello")
    gate = Gate()
    running = shop.start(lambda message: gate.passed(), "empty", singleton=True, lease=timedelta(milliseconds=600))
    permits = shop.db.queue("duerow/singleton/mail")
    ends: set[Any] = set()

    def extended_often() -> bool:
        ends.update(one.leased_until for one in permits.find() if one.leased_until)
        return len(ends) > 4

    eventually(extended_often)
    gate.open()
    running.join()
    assert shop.queue.count() == 0


def test_a_permit_that_somebody_removed_is_made_again(shop: Workshop) -> None:
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    running = shop.start(handle, singleton=True, lease=SOON)
    shop.queue.push("before")
    eventually(lambda: "before" in seen)
    permits = shop.db.queue("duerow/singleton/mail")
    assert permits.remove(key="0", even_if_leased=True)
    eventually(lambda: permits.contains("0"))
    shop.queue.push("after")
    eventually(lambda: "after" in seen)  # "before" may be handled twice: its short lease may end
    running.stop()
    running.join()


def test_permits_beyond_a_lowered_number_are_none(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duerow.worker.cluster_limit.POLL", OFTEN)
    permits = shop.db.queue("duerow/concurrency/mail", retry=fixed(timedelta(0)))
    permits.push_many([Draft(number, key=str(number)) for number in range(4)])
    of_others = permits.reserve_many(2, lease=timedelta(minutes=5))
    shop.queue.push("hello")
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    running = shop.start(handle, cluster_concurrency=2, concurrency=2)
    eventually(lambda: permits.count() == 2)
    assert (seen, shop.queue.count()) == ([], 1)
    permits.release_many(of_others)
    eventually(lambda: seen)
    running.stop()
    running.join()


@pytest.mark.parametrize("ended", ["was stopped", "died"])
def test_a_rate_holds_for_all_singletons_together_that_take_over_from_each_other(
    timeless: Workshop,
    clock: MovableClock,
    ended: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("duerow.worker.cluster_limit.POLL", OFTEN)
    caplog.set_level("INFO", "duerow.worker")
    timeless.queue.push_many([Draft(number) for number in range(30)])
    seen: list[str] = []
    lease, span = timedelta(minutes=1), timedelta(hours=1)

    async def handle(message: Message) -> None:
        seen.append(who())

    def begin(name: str) -> Any:
        return timeless.start(handle, singleton=True, name=name, lease=lease, rate=(10, span), batch=4, concurrency=4)

    def end(running: Any) -> None:
        if ended == "was stopped":
            running.stop()
            running.join()
        else:  # as others see it: its lease ends, and it does not extend it
            clock.advance(lease)

    def at_work() -> set[str]:
        return {getattr(one, "worker", "") for one in caplog.records if getattr(one, "permits", 0)}

    first = begin("anna")
    eventually(lambda: timeless.queue.count() == 20)
    end(first)
    second = begin("berta")
    eventually(lambda: "berta" in at_work())
    assert second.worker._options.budget.room() == 0  # so it claims nothing; otherwise it would begin 10
    end(second)
    clock.advance(span)
    begin("cora")
    eventually(lambda: timeless.queue.count() == 10)
    assert seen == ["anna"] * 10 + ["cora"] * 10
    entries = timeless.db.queue("duerow/rate/mail").find("due_at is not null")
    assert sum(one.payload for one in entries if one.due_at and one.due_at > clock.now()) == 10
