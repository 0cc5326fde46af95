"""A worker that is asked to stop leaves nothing half done, in a bounded time."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from datetime import timedelta

import pytest

from duerow import Draft, Message
from duerow.errors import ConfigurationError
from duerow.testing.worker_harness import Gate, Workshop, eventually


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
    with pytest.raises(ConfigurationError, match="is already running"):
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
        eventually(lambda: [record for record in caplog.records if "stopping on mail" in record.getMessage()])
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
