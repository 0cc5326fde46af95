"""Messages that were in hand when a worker died are handled separately, so that harmless ones are not buried."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from duerow import Draft, LeaseLost, Message, Reservation, fixed, limited
from duerow.testing.worker_harness import Gate, Workshop, eventually

ALIVE = "alive"
NOW = timedelta(0)
SHORT = timedelta(milliseconds=300)
OFTEN = timedelta(milliseconds=20)
KINDS: list[dict[str, Any]] = [
    {"batch": 1, "concurrency": 4},
    {"batch": 100, "concurrency": 4},
    {"batch": 3, "concurrency": 2, "whole_batch": True},
    {"concurrency": 4, "rate": (1_000, timedelta(minutes=1))},
    {"concurrency": 4, "cluster_concurrency": 4},
    {"concurrency": 4, "singleton": True},
    {"concurrency": 4, "names": ["mail", "post"]},
]


def die(shop: Workshop, count: int) -> None:
    """Act as a worker that died with this many messages in hand."""
    assert len(shop.queue.reserve_many(count, lease=timedelta(milliseconds=1))) == count
    eventually(lambda: shop.queue.stats().ready >= count)


def die_late(shop: Workshop, dying: Reservation) -> None:
    """Act as a worker that dies while another one runs: the lease ends now."""
    # MongoDB extends, then reads what it extended; the running worker may have reserved the message in between.
    with suppress(LeaseLost):
        shop.queue.extend(dying, lease=timedelta(milliseconds=1))


def lent(shop: Workshop) -> set[Any]:
    """Return the payloads of all messages that the worker named ALIVE has in hand."""
    return {one.payload for one in shop.queue.find(f"leased_by like '%:{ALIVE}/%' and status in ('new', 'error')")}


def is_apart(caplog: pytest.LogCaptureFixture) -> bool:
    """Return whether a worker has logged that it handles messages separately."""
    return any("each is handled alone" in record.getMessage() for record in caplog.records)


def in_hand(subject: Message | list[Message]) -> list[Message]:
    """Return the messages that a handler got."""
    return subject if isinstance(subject, list) else [subject]


@pytest.mark.parametrize("terms", KINDS, ids=lambda terms: "-".join(terms))
def test_what_was_in_hand_when_its_worker_died_is_handled_with_nothing_else_in_hand(
    shop: Workshop, terms: dict[str, Any]
) -> None:
    shop.queue.push_many([Draft(f"suspect {number}") for number in range(4)])
    die(shop, 4)
    shop.queue.push_many([Draft(number) for number in range(8)])
    beside: dict[str, set[Any]] = {}
    seen: list[Any] = []

    async def handle(subject: Message | list[Message]) -> None:
        messages = in_hand(subject)
        for message in messages:
            seen.append(message.payload)
            if isinstance(message.payload, str):
                assert message.attempts == 2
                beside[message.payload] = lent(shop)

    shop.work(handle, "empty", lease=timedelta(minutes=1), name=ALIVE, **terms)
    assert beside == {f"suspect {number}": {f"suspect {number}"} for number in range(4)}
    assert sorted(map(str, seen)) == sorted([*map(str, range(8)), *beside])
    assert shop.queue.count() == 0


@pytest.mark.parametrize("terms", KINDS, ids=lambda terms: "-".join(terms))
def test_what_comes_back_from_a_death_waits_until_the_handlers_that_run_have_ended(
    shop: Workshop, terms: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "duerow.worker")
    shop.queue.push("suspect")
    dying = eventually(lambda: shop.queue.reserve(lease=timedelta(hours=1)))
    shop.queue.push("slow")
    begun, gate = Gate(), Gate()
    order: list[str] = []

    async def handle(subject: Message | list[Message]) -> None:
        (message,) = in_hand(subject)
        if message.payload == "slow":
            begun.open()
            await gate.passed()
        order.append(message.payload)

    running = shop.start(handle, "empty", poll=OFTEN, lease=timedelta(minutes=1), name=ALIVE, **terms)
    begun.block()
    die_late(shop, dying)
    eventually(lambda: is_apart(caplog))
    assert lent(shop) == {"slow", "suspect"}
    gate.open()
    running.join()
    assert order == ["slow", "suspect"]


@pytest.mark.parametrize("batch", [1, 10])
def test_a_handler_that_runs_for_longer_than_a_lease_does_not_keep_its_worker_from_all_else(
    shop: Workshop, batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "duerow.worker")
    shop.queue.push("suspect")
    dying = eventually(lambda: shop.queue.reserve(lease=timedelta(hours=1)))
    shop.queue.push("slow")
    begun, gate = Gate(), Gate()
    order: list[str] = []

    async def handle(message: Message) -> None:
        if message.payload == "slow":
            begun.open()
            await gate.passed()
        order.append(message.payload)

    running = shop.start(handle, "empty", batch=batch, concurrency=2, lease=SHORT, poll=OFTEN)
    begun.block()
    die_late(shop, dying)
    eventually(lambda: is_apart(caplog))
    shop.queue.push("other")
    eventually(lambda: order == ["other"])
    gate.open()
    running.join()
    assert order == ["other", "slow", "suspect"]
    assert shop.queue.count() == 0


def test_what_waits_behind_a_handler_that_was_quick_until_then_has_no_attempt_counted(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    begun, gate = Gate(), Gate()

    async def handle(message: Message) -> None:
        if message.payload == 3:
            begun.open()
            await gate.passed()

    running = shop.start(handle, batch=100, lease=timedelta(hours=1))
    begun.block()
    eventually(lambda: [one.payload for one in shop.queue.find() if one.attempts] == [3])
    gate.open()
    running.stop()
    running.join()


@pytest.mark.parametrize("limit", [1, 3])
def test_what_is_claimed_for_its_last_attempt_is_begun_and_does_not_wait_in_hand(shop: Workshop, limit: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(6)])
    for _ in range(limit - 1):
        shop.queue.rollback_many(shop.queue.reserve_many(6), delay=NOW)
    waiting: list[set[Any]] = []
    begun: set[Any] = set()

    async def handle(message: Message) -> None:
        begun.add(message.payload)
        waiting.append(lent(shop) - begun)

    shop.work(handle, "empty", name=ALIVE, concurrency=1, retry=limited(limit, fixed(NOW)))
    assert waiting == [set()] * 6
