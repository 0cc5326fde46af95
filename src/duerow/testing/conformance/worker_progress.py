"""Handlers report their progress while they work, and learn that their message was cancelled."""

from __future__ import annotations

from datetime import timedelta

from duerow import Message, Progress, current
from duerow.errors import MessageGone
from duerow.testing.contents import everything
from duerow.testing.worker_harness import Gate, Workshop, eventually

BEAT = timedelta(milliseconds=100)  # a store that refuses conflicting writes must leave room for others
LEASE = timedelta(seconds=60)


def test_how_far_a_handler_is_can_be_read_while_it_works(shop: Workshop) -> None:
    gate = Gate()

    async def handle(message: Message) -> None:
        attempt = current()
        assert attempt is not None
        attempt.progress(0.1)
        attempt.progress(0.4, "page 4 of 10")
        await gate.passed()

    pushed = shop.queue.push("scan")
    running = shop.start(handle, "idle", lease=LEASE, heartbeat=BEAT)
    seen: Progress = eventually(lambda: (one := shop.queue.progress(pushed.id)) and one.fraction == 0.4 and one)
    assert (seen.text, seen.attempt) == ("page 4 of 10", 1)
    assert seen.at is not None
    gate.open()
    running.join()
    assert shop.queue.progress(pushed.id + 1) is None


def test_a_handler_learns_that_its_message_was_cancelled_and_changes_nothing(shop: Workshop) -> None:
    begun, gate = Gate(), Gate()
    told: list[tuple[bool, type]] = []

    async def handle(message: Message) -> None:
        attempt = current()
        assert attempt is not None
        attempt.when_over(lambda error: gate.open())
        begun.open()
        await gate.passed()
        told.append((attempt.cancelled, type(attempt.error)))

    pushed = shop.queue.push("scan")
    waiting = shop.queue.push("later", delay=timedelta(hours=1))
    running = shop.start(handle, "idle", lease=LEASE, heartbeat=BEAT)
    begun.block()
    assert shop.queue.cancel(pushed.id)
    running.join()
    assert told == [(True, MessageGone)]
    assert shop.queue.cancel(where="payload = 'later'").count == 1
    assert not shop.queue.cancel(waiting.id)
    assert everything(shop.db) == []


def test_handlers_that_take_long_learn_soon_that_their_messages_were_cancelled(shop: Workshop) -> None:
    """The heartbeats come hourly: no handler waits for one."""
    told = {"first": Gate(), "second": Gate()}
    begun: list[str] = []
    errors: list[type] = []

    async def handle(message: Message) -> None:
        attempt = current()
        assert attempt is not None

        def note(error: Exception) -> None:
            errors.append(type(error))
            told[message.payload].open()

        attempt.when_over(note)
        begun.append(message.payload)
        await told[message.payload].passed()

    pushed = {payload: shop.queue.push(payload).id for payload in told}
    running = shop.start(handle, "idle", concurrency=2, lease=timedelta(hours=4), heartbeat=timedelta(hours=1))
    eventually(lambda: len(begun) == 2)
    for payload, gate in told.items():  # the second is cancelled when the worker certainly listens
        assert shop.queue.cancel(pushed[payload])
        gate.block()
    running.join()
    assert errors == [MessageGone, MessageGone]
    assert everything(shop.db) == []


def test_a_dead_message_is_not_cancelled(shop: Workshop) -> None:
    shop.queue.push("again", key="a")
    reservation = shop.queue.reserve()
    assert reservation is not None
    shop.queue.bury(reservation, "enough")
    assert not shop.queue.cancel(reservation.message.id)
    assert not shop.queue.cancel(key="a")
    assert shop.queue.count() == 1
