"""A worker says that it is there, so that `why` knows whether anybody will take a message."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Message
from duerow.testing.worker_harness import Workshop, eventually


def test_a_worker_at_work_is_known_as_a_consumer_of_its_queue(shop: Workshop) -> None:
    async def handle(message: Message) -> None:
        raise AssertionError("nothing is due")

    pushed = shop.db.queue("billing").push("for nobody")
    shop.start(handle)

    def consumers() -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        seen = shop.db.run(lambda: shop.db.store.operations.inspect("billing", pushed.id, None))
        assert seen is not None
        return [(one.queues, one.kinds) for one in seen.consumers]

    assert eventually(consumers) == [(("mail",), ("json", "bytes"))]
    assert [reason.code for reason in shop.db.queue("billing").why(pushed.id)] == ["no-consumer"]


def test_workers_of_a_group_hand_on_the_turn_without_waiting_for_the_next_look(shop: Workshop) -> None:
    """The worker looks for messages every hour only: what makes it look is that a turn has ended."""
    handled: list[object] = []

    async def handle(message: Message) -> None:
        handled.append(message.payload)

    for number in range(5):
        shop.queue.push(number, group="g")
    shop.start(handle, poll=timedelta(hours=1))
    assert eventually(lambda: len(handled) == 5)
    assert handled == [0, 1, 2, 3, 4]


def test_a_worker_tells_once_what_the_database_says_otherwise_and_goes_by_its_own(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    handled: list[object] = []

    async def handle(message: Message) -> None:
        handled.append(message.payload)

    shop.db.queue("mail", lease=timedelta(hours=7), dead_letter="mail-dead").declare()
    shop.queue.push("hello")
    shop.start(handle)

    def told() -> list[str]:
        return [
            record.getMessage()
            for record in caplog.records
            if "differs from its stored definition" in record.getMessage()
        ]

    assert eventually(lambda: handled and len(told()) == 2)
    assert "lease: stored 7:00:00" in told()[0]
    assert "dead_letter: stored 'mail-dead', declared None" in told()[1]
