"""A worker that is asked to stop leaves nothing half done, in a bounded time."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from datetime import timedelta

import pytest

from duerow import Draft, Message
from duerow.errors import ConfigurationError, TimedOut
from duerow.working.attempt import Attempt, current
from tests.workers.workshop import Gate, Workshop, eventually


@pytest.mark.parametrize("batch", [1, 50])
def test_what_was_not_begun_is_as_it_was_and_what_was_is_finished(shop: Workshop, batch: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(50)])
    before = {one.id: (one.due_at, one.attempts, one.status) for one in shop.queue.find()}
    begun, gate = Gate(), Gate()
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)
        if message.payload == 5:
            begun.open()
            await gate.passed()

    running = shop.start(handle, batch=batch)
    begun.block()
    running.stop()
    gate.open()
    running.join()
    assert seen == [0, 1, 2, 3, 4, 5]
    left = shop.queue.find()
    assert [one.payload for one in left] == list(range(6, 50))
    assert {one.id: (one.due_at, one.attempts, one.status) for one in left}.items() <= before.items()
    assert [one.leased_by for one in left] == [None] * 44


@pytest.mark.parametrize("batch", [1, 50])
def test_what_outlasts_the_grace_is_due_again_at_once(shop: Workshop, batch: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(10)])
    begun, never = Gate(), Gate()
    attempts: list[Attempt | None] = []

    async def handle(message: Message) -> None:
        attempts.append(current())
        begun.open()
        await never.passed()

    running = shop.start(handle, batch=batch, grace=timedelta(milliseconds=20))
    begun.block()
    running.stop()
    running.join()
    assert attempts[0] is not None
    assert isinstance(attempts[0].error, TimedOut)
    first, *others = shop.queue.find()
    assert (first.status, first.attempts, first.leased_by) == ("error", 1, None)
    assert first.last_error is not None
    assert "grace" in first.last_error.message
    assert {(one.status, one.attempts, one.leased_by) for one in others} == {("new", 0, None)}
    again = shop.queue.reserve_many(10)
    assert sorted(one.message.payload for one in again) == list(range(10))
    never.open()


def test_asked_twice_it_waits_for_no_handler(shop: Workshop) -> None:
    shop.queue.push("hello")
    begun, never = Gate(), Gate()

    async def handle(message: Message) -> None:
        begun.open()
        await never.passed()

    running = shop.start(handle, grace=timedelta(hours=1))
    begun.block()
    running.stop()
    running.stop()
    running.join()
    (message,) = shop.queue.find()
    assert (message.status, message.leased_by) == ("error", None)
    never.open()


def test_a_handler_may_stop_its_worker(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(10)])
    seen: list[int] = []
    running = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)
        if message.payload == 3:
            eventually(lambda: running)[0].stop()

    running.append(shop.start(handle, batch=1))
    running[0].join()
    assert seen == [0, 1, 2, 3]
    assert shop.queue.count("new") == 6


def test_a_worker_asked_before_it_runs_returns_as_soon_as_it_does() -> None:
    import duerow
    from duerow.sync.worker import Worker

    queue = duerow.connect("memory://").queue("mail")
    worker = Worker(queue, lambda message: None)
    worker.stop()
    worker.run()


def test_a_worker_runs_once_at_a_time(shop: Workshop) -> None:
    async def handle(message: Message) -> None: ...

    running = shop.start(handle)
    worker = eventually(lambda: running.worker)  # type: ignore[attr-defined]
    if shop.is_async:
        eventually(lambda: worker._handlers)
    else:
        eventually(worker._running.locked)
    run_again = (lambda: asyncio.run(worker.run("idle"))) if shop.is_async else (lambda: worker.run("idle"))
    with pytest.raises(ConfigurationError, match="runs already"):
        run_again()
    running.stop()
    running.join()


def test_no_signal_is_taken_away_for_longer_than_a_run(shop: Workshop) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    async def handle(message: Message) -> None: ...

    shop.work(handle)
    assert {number: signal.getsignal(number) for number in before} == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_worker_in_the_main_thread(
    shop: Workshop, number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "duerow.worker")
    shop.queue.push_many([Draft(payload) for payload in range(10)])
    gate = Gate()

    def open_when_stopping() -> None:
        eventually(lambda: [record for record in caplog.records if "stopping on mail" in record.message])
        gate.open()

    async def handle(message: Message) -> None:
        if message.payload == 3:
            signal.pthread_kill(threading.main_thread().ident or 0, number)
            await gate.passed()

    threading.Thread(target=open_when_stopping, daemon=True).start()
    shop.work(handle, None, batch=100)
    left = shop.queue.find()
    assert [one.payload for one in left] == [4, 5, 6, 7, 8, 9]
    assert {(one.attempts, one.leased_by) for one in left} == {(0, None)}
