"""A worker works on several queues fairly, and leaves nothing behind in any of them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from duerow import Draft, Message
from duerow.testing.worker_harness import Gate, Workshop, eventually

THREE = ("mail", "sms", "post")
WAYS = [
    pytest.param({"batch": 1}, id="one-by-one"),
    pytest.param({"batch": 10}, id="batches"),
    pytest.param({"batch": 10, "concurrency": 3}, id="batches-in-three"),
]


def fill(shop: Workshop, count: int, *names: str) -> None:
    """Push this many messages into each of these queues."""
    for name in names:
        shop.db.queue(name).push_many([Draft(f"{name} {number}") for number in range(count)])


@pytest.mark.parametrize("terms", WAYS)
def test_every_message_of_every_queue_is_handled_once(shop: Workshop, terms: dict[str, Any], scale: int) -> None:
    fill(shop, 15 * scale, *THREE)
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)
        assert message.payload.startswith(message.queue)

    shop.work(handle, "empty", names=THREE, **terms)
    assert Counter(seen) == Counter(f"{name} {number}" for name in THREE for number in range(15 * scale))
    assert shop.db.queues() == []


@pytest.mark.parametrize("batch", [1, 6])
def test_a_queue_with_a_backlog_does_not_keep_others_waiting(shop: Workshop, batch: int, scale: int) -> None:
    fill(shop, 30 * scale, "mail")
    fill(shop, 4, "post")
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.queue)

    shop.work(handle, names=THREE, batch=batch)
    assert Counter(seen) == {"mail": 30 * scale, "post": 4}
    # Claims are made ahead; the first is for one message, because nothing is known about the handler yet.
    assert seen[: 2 * 4 + 3].count("post") >= 3


def test_of_several_queues_the_messages_of_each_keep_their_order(shop: Workshop) -> None:
    fill(shop, 30, *THREE)
    seen: dict[str, list[str]] = {name: [] for name in THREE}

    async def handle(message: Message) -> None:
        seen[message.queue].append(message.payload)

    shop.work(handle, names=THREE, batch=7)
    assert seen == {name: [f"{name} {number}" for number in range(30)] for name in THREE}


def test_an_idle_worker_is_woken_by_a_push_into_any_of_its_queues(shop: Workshop) -> None:
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.queue)

    def handled(count: int) -> bool:
        return len(seen) == count

    running = shop.start(handle, names=THREE, poll=timedelta(seconds=30))
    for count, name in enumerate(("post", "mail", "sms"), 1):
        shop.db.queue(name).push("hello")
        eventually(partial(handled, count))
    running.stop()
    running.join()
    assert seen == ["post", "mail", "sms"]


def test_leases_of_all_queues_are_kept(shop: Workshop) -> None:
    fill(shop, 1, "mail", "sms")
    gate, begun = Gate(), []

    async def handle(message: Message) -> None:
        begun.append(message.queue)
        await gate.passed()

    running = shop.start(handle, "empty", queue={"lease": timedelta(seconds=1)}, names=("mail", "sms"), concurrency=2)
    eventually(lambda: len(begun) == 2)
    ends = {name: {shop.db.queue(name).find()[0].leased_until} for name in ("mail", "sms")}

    def extended() -> bool:
        for name, seen in ends.items():
            seen.add(shop.db.queue(name).find()[0].leased_until)
        return all(len(seen) > 2 for seen in ends.values())

    eventually(extended)
    gate.open()
    running.join()
    assert sorted(begun) == ["mail", "sms"]


def test_a_stopped_worker_gives_back_the_rest_of_every_queue(shop: Workshop) -> None:
    fill(shop, 10, *THREE)
    gate, begun = Gate(), []

    async def handle(message: Message) -> None:
        begun.append(message.id)
        await gate.passed()

    running = shop.start(handle, names=THREE)
    eventually(lambda: begun)
    running.stop()
    gate.open()
    running.join()
    left = [message for name in THREE for message in shop.db.queue(name).find()]
    assert len(left) == 30 - len(begun)
    assert {(message.attempts, message.leased_by) for message in left} == {(0, None)}
