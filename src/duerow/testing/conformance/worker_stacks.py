"""An operator can ask where a running handler is in its code, and its worker answers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Database, Message, Queue
from duerow.errors import ConfigurationError, InvalidMessage, NotInProgress, TimedOut
from duerow.testing.worker_harness import PATIENCE, Gate, Workshop
from duerow.worker import cancellation

BEAT = timedelta(milliseconds=100)
LEASE = timedelta(seconds=60)
WAIT = timedelta(seconds=PATIENCE)


def test_the_worker_says_where_the_handler_of_a_message_is(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancellation, "LONG", 0.05)
    gate = Gate()
    begun = {"first": Gate(), "second": Gate()}

    async def scan(message: Message) -> None:
        begun[message.payload].open()
        await gate.passed()

    async def handle(message: Message) -> None:
        await scan(message)

    first, second = shop.queue.push("first"), shop.queue.push("second")
    poll = timedelta(hours=1)
    running = shop.start(handle, "idle", concurrency=2, lease=LEASE, heartbeat=BEAT, poll=poll, name="w1")
    begun["first"].block()
    assert shop.queue.last_stack(first.id) is None
    told = shop.queue.stack(first.id, wait=WAIT)
    functions = [frame.function.rpartition(".")[2] for frame in told.frames]
    begin = functions.index("handle")
    assert functions[begin : begin + 3] == ["handle", "scan", "passed"]
    assert (told.attempt, told.note) == (1, None)
    assert told.worker.endswith(":w1")
    assert told.frames[functions.index("scan")].file == __file__
    assert shop.queue.last_stack(first.id) == told
    begun["second"].block()
    assert shop.queue.stack(second.id, wait=WAIT).attempt == 1  # by now the worker listens, or looks often
    gate.open()
    running.join()


def test_who_asks_a_consumer_that_cannot_answer_is_told_so(queue: Queue, db: Database) -> None:
    queue.push("held")
    reservation = queue.reserve()
    assert reservation is not None
    with pytest.raises(TimedOut, match="did not report"):
        queue.stack(reservation.message.id, wait=timedelta(0))
    assert db.queue("mail/stack").count() == 0


def test_only_a_message_in_progress_has_a_stack(queue: Queue) -> None:
    waiting = queue.push("waits")
    with pytest.raises(NotInProgress, match="not in progress"):
        queue.stack(waiting.id)
    with pytest.raises(InvalidMessage, match="no message"):
        queue.stack(waiting.id + 1)
    with pytest.raises(ConfigurationError):
        queue.stack("7")  # type: ignore[arg-type]
    assert queue.last_stack(waiting.id) is None
