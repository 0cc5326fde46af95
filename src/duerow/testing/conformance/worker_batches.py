"""A handler of whole batches gets many messages at once, and each message ends in its own way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Commit, Draft, Message, Move, Release, Retry, Rollback, fixed, limited
from duerow.testing.worker_harness import Gate, Workshop, eventually

AT_ONCE = fixed(timedelta(0))
ONCE = limited(1, AT_ONCE)


WAYS = [
    pytest.param({"batch": 1}, id="one-by-one"),
    pytest.param({"batch": 7}, id="batches"),
    pytest.param({"batch": 7, "concurrency": 3}, id="batches-in-three"),
]


@pytest.mark.parametrize("terms", WAYS)
def test_every_message_is_in_one_batch_of_at_most_so_many(shop: Workshop, terms: dict[str, Any], scale: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(50 * scale)])
    batches: list[list[int]] = []

    async def handle(messages: list[Message]) -> None:
        batches.append([message.payload for message in messages])

    shop.work(handle, "empty", whole_batch=True, **terms)
    assert sorted(number for batch in batches for number in batch) == list(range(50 * scale))
    assert {len(batch) for batch in batches} <= set(range(1, terms["batch"] + 1))
    assert shop.queue.count() == 0


def test_batches_are_full_as_long_as_there_are_messages_and_in_their_order(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(25)])
    batches: list[list[int]] = []

    async def handle(messages: list[Message]) -> None:
        batches.append([message.payload for message in messages])

    shop.work(handle, whole_batch=True, batch=10)
    assert batches == [list(range(10)), list(range(10, 20)), list(range(20, 25))]


def test_each_message_of_a_batch_ends_as_its_entry_says(shop: Workshop) -> None:
    outcomes: list[Any] = [
        None,
        Commit(),
        Move("billing"),
        [Move("billing", "a"), Move("shipping")],
        Bury("no such number"),
        Rollback(timedelta(hours=1), "no line"),
        Retry(after=timedelta(hours=1)),
        ValueError("cannot handle it"),
        Release(),
    ]
    shop.queue.push_many([Draft(number) for number in range(len(outcomes))])
    stop: list[Any] = []

    async def handle(messages: list[Message]) -> list[Any]:
        stop.append(messages)
        if len(stop) > 1:  # released messages are due at once
            return [Bury("enough") for _ in messages]
        assert len(messages) == len(outcomes)
        return [outcomes[message.payload] for message in messages]

    shop.work(handle, whole_batch=True, retry=limited(5, fixed(timedelta(hours=1))))
    left = {
        one.payload: (one.status, one.attempts, getattr(one.last_error, "message", "")) for one in shop.queue.find()
    }
    forked = ["a"] if shop.db.store.capabilities.transactions else []
    if not forked:
        _, _, why = left.pop(3)
        assert why.startswith("NotSupported")
    assert left == {
        4: ("dead", 1, "no such number"),
        5: ("error", 1, "no line"),
        6: ("error", 1, "Retry: the handler asked for a retry after 1:00:00"),
        7: ("error", 1, "ValueError: cannot handle it"),
        8: ("dead", 1, "enough"),
    }
    assert sorted(str(one.payload) for one in shop.db.queue("billing").find()) == ["2", *forked]
    assert len(shop.db.queue("shipping").find()) == len(forked)


def test_of_a_batch_a_settlement_that_cannot_be_carried_out_fails_that_message_alone(shop: Workshop) -> None:
    shop.db.queue("billing").push("there first", key="taken")
    shop.queue.push_many([Draft("first", "free"), Draft("second", "taken"), Draft("third", "free too")])

    async def handle(messages: list[Message]) -> list[Any]:
        return [Move("billing") for _ in messages]

    shop.work(handle, whole_batch=True, retry=ONCE)
    (message,) = shop.queue.find()
    assert (message.payload, message.status) == ("second", "dead")
    assert {one.payload for one in shop.db.queue("billing").find()} == {"there first", "first", "third"}


def test_a_stopped_worker_ends_no_batch_before_its_time_and_gives_back_the_rest(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    seen: list[int] = []
    gate = Gate()

    async def handle(messages: list[Message]) -> None:
        seen.extend(message.payload for message in messages)
        await gate.passed()

    running = shop.start(handle, whole_batch=True, batch=5)
    eventually(lambda: seen)
    running.stop()
    gate.open()
    running.join()
    assert seen == [0, 1, 2, 3, 4]
    left = shop.queue.find()
    assert [(one.payload, one.attempts, one.leased_by) for one in left] == [
        (number, 0, None) for number in range(5, 20)
    ]


def test_a_handler_that_outlasts_the_grace_leaves_its_whole_batch_due_again(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(5)])
    begun, never = Gate(), Gate()

    async def handle(messages: list[Message]) -> None:
        begun.open()
        await never.passed()

    running = shop.start(handle, whole_batch=True, retry=ONCE, grace=timedelta(milliseconds=50))
    begun.block()
    running.stop()
    running.join()
    never.open()
    left = shop.queue.find()
    assert [(one.payload, one.status, one.attempts, one.leased_by) for one in left] == [
        (number, "error", 1, None) for number in range(5)
    ]
