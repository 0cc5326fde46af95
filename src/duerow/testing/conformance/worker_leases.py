"""A worker keeps its messages: leases are extended whatever handlers do, and a lost lease is reported."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from duerow import Draft, Message
from duerow.errors import LeaseLost
from duerow.testing.worker_harness import Gate, Workshop, eventually
from duerow.worker import lease_keeper
from duerow.worker.attempt import Attempt, current

SHORT = timedelta(milliseconds=300)
OFTEN = timedelta(milliseconds=200)
"""Between heartbeats: on a slow server, an edit has to find its time between two of them."""


@pytest.mark.parametrize("batch", [1, 10])
def test_a_handler_that_blocks_its_thread_or_loop_keeps_its_lease(shop: Workshop, batch: int) -> None:
    shop.queue.push("hello")
    begun, gate = Gate(), Gate()
    tries: list[int] = []

    async def handle(message: Message) -> None:
        tries.append(message.attempts)
        begun.open()
        gate.block()  # this blocks even the loop of an async worker

    running = shop.start(handle, "empty", batch=batch, lease=SHORT)
    begun.block()
    ends: set[datetime | None] = set()

    def extended_often() -> bool:
        assert shop.queue.reserve() is None
        ends.update(one.leased_until for one in shop.queue.find())
        return len(ends) > 6  # each a third of the lease after the last: two leases have passed by now

    try:
        eventually(extended_often)
    finally:
        gate.open()
    running.join()
    assert tries == [1]
    assert shop.queue.count() == 0


def test_what_waits_too_long_behind_a_blocked_handler_is_given_back(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_keeper, "TOO_LONG", 0.1)
    shop.queue.push_many([Draft(number) for number in range(20)])
    begun, gate = Gate(), Gate()

    async def handle(message: Message) -> None:
        if message.payload == 3:
            begun.open()
            gate.block()

    # No lease ends, however slow the machine is, so messages that come back were given back.
    running = shop.start(handle, "empty", batch=100, lease=timedelta(hours=1), heartbeat=OFTEN)
    begun.block()
    try:
        others = [eventually(shop.queue.reserve) for _ in range(16)]
        assert sorted(one.message.payload for one in others) == list(range(4, 20))
        assert {one.attempt for one in others} == {1}
        shop.queue.commit_many(others)
    finally:
        gate.open()
    running.join()
    assert shop.queue.count() == 0


@pytest.mark.parametrize("batch", [1, 10])
def test_a_handler_is_told_when_its_message_is_no_longer_its_own(shop: Workshop, batch: int) -> None:
    shop.queue.push("old", key="k")
    begun = Gate()
    told: list[Attempt] = []
    seen: list[str] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)
        if message.payload == "old":
            attempt = current()
            assert attempt is not None
            over = Gate()
            attempt.when_over(lambda error: over.open())
            begun.open()
            await over.passed()
            told.append(attempt)

    running = shop.start(handle, "empty", batch=batch, lease=SHORT, concurrency=2)
    begun.block()
    shop.queue.push("new", key="k", on_duplicate="replace")
    running.join()
    assert seen == ["old", "new"]
    assert told[0].over
    assert isinstance(told[0].error, LeaseLost)
    with pytest.raises(LeaseLost):
        told[0].check()
    assert shop.queue.count() == 0


@pytest.mark.parametrize("whole_batch", [False, True])
@pytest.mark.parametrize("taken", ["removed", "edited", "run out and taken over"])
def test_a_handler_learns_at_the_next_heartbeat_that_its_message_is_no_longer_its_own(
    shop: Workshop, taken: str, whole_batch: bool
) -> None:
    pushed = shop.queue.push("hello", key="k")
    begun = Gate()
    told: list[Exception | None] = []

    async def handle(subject: Message | list[Message]) -> None:
        message = subject[0] if isinstance(subject, list) else subject
        if message.payload == "other":  # as it was edited, it is due
            return
        attempt = current(message)
        assert attempt is not None
        over = Gate()
        attempt.when_over(lambda error: over.open())
        begun.open()
        await over.passed()
        told.append(attempt.error)

    # A heartbeat at a third of this lease would come too late for the test.
    running = shop.start(handle, whole_batch=whole_batch, lease=timedelta(hours=1), heartbeat=OFTEN)
    begun.block()
    if taken == "removed":
        assert shop.queue.remove(id=pushed.id, even_if_leased=True).count == 1
    elif taken == "edited":
        assert shop.queue.edit(pushed.id, payload="other", even_if_leased=True).count == 1
    else:
        shop.queue.reschedule(id=pushed.id, delay=timedelta(0), even_if_leased=True)
        shop.queue.pop()
    eventually(lambda: told)
    assert isinstance(told[0], LeaseLost)
    running.stop()
    running.join()


def test_what_a_handler_did_without_its_lease_is_dropped_and_told(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    pushed = shop.queue.push("old", key="k")
    begun, gate = Gate(), Gate()

    async def handle(message: Message) -> None:
        if message.payload == "old":
            begun.open()
            await gate.passed()
            raise ValueError("must not be recorded")
        assert message.status == "new"

    running = shop.start(handle, "empty")
    begun.block()
    shop.queue.push("new", key="k", on_duplicate="replace")
    gate.open()
    running.join()
    assert shop.queue.count() == 0
    lost = [record for record in caplog.records if "lease lost" in record.getMessage()]
    assert [getattr(record, "message_id", None) for record in lost] == [pushed.id]
