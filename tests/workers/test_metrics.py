"""Workers count what they do, for `stats`."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Draft, Message, Move, fixed, limited
from duerow.store import Totals
from duerow.testing.worker_harness import Workshop, eventually
from duerow.worker import maintenance

POLICY = limited(2, fixed(timedelta(0)))

WAYS = [
    pytest.param({}, id="each"),
    pytest.param({"batch": 1}, id="one-by-one"),
    pytest.param({"whole_batch": True}, id="batches"),
]


def ending(number: int) -> Any:
    """Of each ten numbers: one fails twice, one is buried, one moved, seven are done."""
    if number % 10 == 0:
        return ValueError("out of stock")
    return {1: Bury("no use"), 2: Move("billing")}.get(number % 10)


@pytest.mark.parametrize("terms", WAYS)
def test_when_a_worker_has_ended_all_that_it_did_is_known(shop: Workshop, terms: dict[str, Any]) -> None:
    async def handle(subject: Any) -> Any:
        if isinstance(subject, list):
            return [ending(message.payload) for message in subject]
        outcome = ending(subject.payload)
        if isinstance(outcome, ValueError):
            raise outcome
        return outcome

    shop.queue.push_many([Draft(number) for number in range(30)])
    shop.work(handle, "empty", queue={"retry": POLICY}, **terms)
    stats = shop.queue.stats()
    assert stats.lifetime == Totals(done=21, failed=3, dead=6, moved=3)
    assert stats.waiting_time is not None
    assert stats.handling_time is not None
    assert timedelta(0) <= stats.handling_time.p50 <= stats.handling_time.p99


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_what_a_handler_settles_in_its_own_transaction_is_counted_once(shop: Workshop) -> None:
    async def handle(message: Message, connection: Any) -> None:
        if message.payload % 10 == 0:
            raise ValueError("out of stock")

    shop.queue.push_many([Draft(number) for number in range(20)])
    shop.work(handle, "empty", queue={"retry": POLICY}, transactional=True)
    stats = shop.queue.stats()
    assert stats.lifetime == Totals(done=18, failed=2, dead=2)
    assert stats.handling_time is not None


def test_a_worker_that_has_nothing_more_to_do_writes_what_it_did(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "LOOK", 0.01)
    monkeypatch.setattr(maintenance, "PRESENT", 0.01)

    async def handle(message: Message) -> None:
        return None

    shop.start(handle)
    shop.queue.push("hello")
    assert eventually(lambda: shop.queue.stats().lifetime.done == 1)


def test_times_of_handlers_that_were_given_up_on_are_counted_as_the_timeout(shop: Workshop) -> None:
    let_go = threading.Event()

    async def handle(message: Message) -> None:
        if shop.is_async:
            await asyncio.sleep(60)
        let_go.wait(60)

    shop.queue.push("hello")
    try:
        shop.work(handle, "empty", queue={"retry": limited(1, POLICY)}, timeout=timedelta(seconds=0.2))
    finally:
        let_go.set()
    times = shop.queue.stats().handling_time
    assert times is not None
    assert times.p50.total_seconds() == pytest.approx(0.2, rel=0.07)
