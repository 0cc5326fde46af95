"""Handlers of every kind are given payloads with the type that their queue declares."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from duerow import Draft, Message
from duerow.testing.worker_harness import Workshop
from tests.workers.jobs import Order, shipped

TYPED = {"payload": Order}


@pytest.fixture
def orders(shop: Workshop) -> list[Order]:
    """What was pushed."""
    pushed = [Order(number) for number in range(5)]
    shop.db.queue("mail", payload=Order).push_many([Draft(order) for order in pushed])
    return pushed


def test_one_message(shop: Workshop, orders: list[Order]) -> None:
    seen: list[Order] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, queue=TYPED)
    assert seen == orders


def test_whole_batches_of_several_queues(shop: Workshop, orders: list[Order]) -> None:
    shop.db.queue("sms", payload=Order).push(Order(9))
    seen: list[Order] = []

    async def handle(messages: list[Message]) -> None:
        seen.extend(message.payload for message in messages)

    shop.work(handle, queue=TYPED, names=("mail", "sms"), whole_batch=True)
    assert sorted(order.number for order in seen) == [0, 1, 2, 3, 4, 9]


def test_in_the_transaction_of_the_settlement(shop: Workshop, orders: list[Order]) -> None:
    if shop.url.startswith("memory"):
        return
    seen: list[Order] = []

    async def handle(message: Message, connection: Any) -> None:
        seen.append(message.payload)

    shop.work(handle, queue=TYPED, transactional=True)
    assert seen == orders
    assert shop.queue.count() == 0


def test_in_processes(shop: Workshop, orders: list[Order], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duerow.testing.worker_harness.blocking", lambda handler: handler)
    shop.work(shipped, queue=TYPED, processes=1)  # type: ignore[arg-type]
    assert sorted(one.payload for one in shop.db.queue("done").find()) == [0, 1, 2, 3, 4]


def test_a_transactional_worker_that_is_cancelled_leaves_nothing_open(shop: Workshop, orders: list[Order]) -> None:
    if shop.url.startswith("memory") or not shop.is_async:
        return
    from duerow import aio

    async def run() -> None:
        async with await aio.connect(shop.url, **shop.settings) as db:
            begun = asyncio.Event()

            async def hang(message: Message, connection: Any) -> None:
                begun.set()
                await asyncio.Event().wait()

            worker = aio.Worker(db.queue("mail", payload=Order), hang, transactional=True)
            running = asyncio.create_task(worker.run())
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(run())
    left = shop.queue.find()
    assert len(left) == 5
    assert {one.leased_by for one in left} == {None}
    shop.queue.push("more")  # nobody holds the file any more
