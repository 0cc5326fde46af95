"""Workers push what schedules have due, whatever their own queue is."""

from __future__ import annotations

import pytest

from duerow import Message
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.worker_harness import Gate, Workshop, eventually
from duerow.worker import maintenance


def test_a_worker_pushes_a_tick_and_handles_its_message(timeless: Workshop, clock: MovableClock) -> None:
    timeless.db.schedule("hourly", every=hours(1), queue="mail", payload="hello")
    clock.advance(hours(1))
    handled: list[Message] = []
    gate = Gate()

    async def handle(message: Message) -> None:
        handled.append(message)
        gate.open()

    running = timeless.start(handle)
    gate.block()
    running.stop()
    running.join()
    assert [(message.payload, message.headers["schedule"]) for message in handled] == [("hello", "hourly")]
    assert timeless.db.maintain().pushed == 0


@pytest.mark.parametrize("until", ["idle", "empty"])
@pytest.mark.parametrize("batch", [1, 10])
def test_a_run_however_short_pushes_and_handles_what_schedules_have_due(
    timeless: Workshop, clock: MovableClock, until: str, batch: int
) -> None:
    timeless.db.schedule("hourly", every=hours(1), queue="mail", payload="hello")
    handled: list[object] = []

    async def handle(message: Message) -> None:
        handled.append(message.payload)

    for number in range(1, 4):
        clock.advance(hours(1))
        timeless.work(handle, until, batch=batch)
        assert len(handled) == number


def test_a_worker_at_work_notices_schedules_that_are_declared_and_ticks_them_again_and_again(
    timeless: Workshop, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "LOOK", 0.01)

    async def handle(message: Message) -> None:
        raise AssertionError("its own queue is another one")

    timeless.start(handle)
    timeless.start(handle)
    timeless.db.schedule("often", every=minutes(10), queue="billing", payload="bill")
    billing = timeless.db.queue("billing")
    for count in range(1, 4):
        clock.advance(minutes(10))
        assert eventually(lambda count=count: billing.count() == count)  # type: ignore[misc]
    assert len({message.headers["tick"] for message in billing.find()}) == 3
