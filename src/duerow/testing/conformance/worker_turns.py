"""What a handler returns or raises decides how the turn of its message ends, and affects no other message."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Draft, Message, Move, fixed, limited
from duerow.settlement import Settlement
from duerow.testing.worker_harness import Workshop

AT_ONCE = fixed(timedelta(0))
WAYS = [
    pytest.param({"batch": 1}, id="one-by-one"),
    pytest.param({"batch": 1, "concurrency": 3}, id="one-by-one-in-three"),
    pytest.param({"batch": 10}, id="batches"),
    pytest.param({"batch": 10, "concurrency": 3}, id="batches-in-three"),
]


@pytest.mark.parametrize("terms", WAYS)
def test_every_message_is_handled_once_and_leaves_the_queue(shop: Workshop, terms: dict[str, Any], scale: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(20 * scale)])
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, "empty", **terms)
    assert Counter(seen) == Counter(range(20 * scale))
    assert shop.queue.count() == 0


def test_one_handler_gets_the_messages_in_the_order_in_which_they_are_due(shop: Workshop, scale: int) -> None:
    shop.queue.push_many([Draft(number) for number in range(25 * scale)])
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, batch=7)
    assert seen == list(range(25 * scale))


@pytest.mark.parametrize("way", ["returned", "raised"])
def test_a_handler_gives_a_message_up_at_once(shop: Workshop, way: str) -> None:
    shop.queue.push("hello")

    async def handle(message: Message) -> Any:
        wish = Bury("no such number")
        if way == "raised":
            raise wish
        return wish

    shop.work(handle)
    (message,) = shop.queue.find()
    assert (message.status, message.attempts) == ("dead", 1)
    assert message.last_error is not None
    assert message.last_error.message == "no such number"


def test_a_move_that_a_handler_returns_sends_the_message_on(shop: Workshop) -> None:
    shop.queue.push({"n": 1}, key="k")

    async def handle(message: Message) -> Settlement:
        return Move("billing", patch={"m": 2})

    shop.work(handle)
    (moved,) = shop.db.queue("billing").find()
    assert (moved.payload, moved.key, moved.attempts) == ({"n": 1, "m": 2}, "k", 0)


def test_a_list_of_moves_that_a_handler_returns_sends_a_new_message_to_each(shop: Workshop) -> None:
    ids = [pushed.id for pushed in shop.queue.push_many([Draft(number) for number in range(10)])]

    async def handle(message: Message) -> Any:
        return [Move("billing", "a"), Move("shipping")] if message.payload == 6 else None

    shop.work(handle, retry=limited(2, AT_ONCE))
    found = [one for name in ("billing", "shipping") for one in shop.db.queue(name).find()]
    left = [(one.payload, one.status, one.last_error and one.last_error.type) for one in shop.queue.find()]
    if shop.db.store.capabilities.transactions:
        assert [(one.payload, one.headers["parent"]) for one in found] == [("a", ids[6]), (6, ids[6])]
        assert left == []
    else:
        assert found == []
        assert left == [(6, "dead", "NotSupported")]


def test_a_move_whose_key_is_taken_is_a_failed_attempt_of_that_message_alone(shop: Workshop) -> None:
    shop.db.queue("billing").push("there first", key="taken")
    shop.queue.push_many([Draft("first", "free"), Draft("second", "taken"), Draft("third", "free too")])

    async def handle(message: Message) -> Settlement:
        return Move("billing")

    shop.work(handle, retry=limited(2, AT_ONCE))
    (message,) = shop.queue.find()
    assert (message.payload, message.status, message.attempts) == ("second", "dead", 2)
    assert message.last_error is not None
    assert message.last_error.type == "DuplicateKey"
    assert {one.payload for one in shop.db.queue("billing").find()} == {"there first", "first", "third"}
