"""What a handler returns or raises is how the turn of its message ends, and of that message alone."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Commit, Draft, Message, Move, Rollback, fixed, limited
from duerow.errors import InvalidOutcome
from duerow.testing.worker_harness import Workshop
from duerow.worker.attempt import current

AT_ONCE = fixed(timedelta(0))


def test_the_queues_own_policy_holds_unless_the_worker_has_one(shop: Workshop) -> None:
    shop.queue.push("hello")
    tries: list[int] = []

    async def handle(message: Message) -> None:
        tries.append(message.attempts)
        raise ValueError

    shop.work(handle, queue={"retry": limited(2, AT_ONCE)})
    assert tries == [1, 2]


def test_what_is_returned_is_ignored_unless_it_ends_a_turn(shop: Workshop) -> None:
    outcomes: list[Any] = [True, "text", 7, [1, 2], {"a": 1}, object(), int]
    shop.queue.push_many([Draft(number) for number in range(len(outcomes))])

    async def handle(message: Message) -> Any:
        return outcomes[message.payload]

    shop.work(handle)
    assert shop.queue.count() == 0


NONSENSE = {
    "a list that mixes moves with something else": lambda: [Move("billing"), "shipping"],
    "a queue that cannot be called so": lambda: Move("no such place!"),
    "a payload that JSON does not carry": lambda: Move("billing", payload={1, 2}),
    "a payload and a patch": lambda: Move("billing", payload=1, patch={}),
    "headers that are none": lambda: Move("billing", headers="none"),  # type: ignore[arg-type]
    "a payload for a history that is not kept": lambda: Commit(payload="kept"),
    "a draft without a queue": lambda: Commit(then=(Draft("where to"),)),
    "a delay that is none": lambda: Rollback(delay=5),  # type: ignore[arg-type]
    "a negative delay": lambda: Rollback(delay=timedelta(seconds=-1)),
    "an exception": lambda: ValueError("returned"),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_is_a_failed_attempt_of_that_message_alone(shop: Workshop, what: str) -> None:
    shop.queue.push_many([Draft(number) for number in range(10)])

    async def handle(message: Message) -> Any:
        return NONSENSE[what]() if message.payload == 6 else None

    shop.work(handle, retry=limited(2, AT_ONCE))
    (message,) = shop.queue.find()
    assert (message.payload, message.status, message.attempts) == (6, "dead", 2)
    assert message.last_error is not None
    assert len(message.last_error.message) > 10
    assert shop.db.queue("billing").count() == 0


@pytest.mark.parametrize("broken", [lambda *_: 1 / 0, lambda *_: "soon"], ids=["raises", "no-delay"])
def test_a_retry_policy_that_fails_is_replaced_by_the_default(shop: Workshop, broken: Any, caplog: Any) -> None:
    shop.queue.push("hello")

    async def handle(message: Message) -> None:
        raise ValueError("the handler's own")

    shop.work(handle, retry=broken)
    (message,) = shop.queue.find()
    assert message.status == "error"
    assert message.last_error is not None
    assert message.last_error.message.startswith("ValueError: the handler's own")
    assert any("retry policy" in record.getMessage() for record in caplog.records if record.levelno == logging.ERROR)


def test_a_handler_that_ends_its_thread_has_failed(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(3)])

    async def handle(message: Message) -> None:
        if message.payload == 1:
            raise SystemExit("enough")

    shop.work(handle, retry=limited(1, AT_ONCE))
    (message,) = shop.queue.find()
    assert (message.payload, message.status) == (1, "dead")


def test_a_handler_can_ask_for_its_own_attempt(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(10)])
    asked: list[tuple[Message, Message, bool]] = []

    async def handle(message: Message) -> None:
        attempt = current()
        assert attempt is not None
        asked.append((attempt.message, message, attempt.over))

    shop.work(handle, concurrency=3)
    assert len(asked) == 10
    assert all(own is given and not over for own, given, over in asked)
    assert current() is None


def test_people_are_told_of_failures_with_what_they_need_to_look_them_up(shop: Workshop, caplog: Any) -> None:
    (pushed,) = shop.queue.push_many([Draft("hello", "k-1")])
    caplog.set_level(logging.DEBUG, "duerow.worker")

    async def handle(message: Message) -> None:
        if message.attempts < 3:
            raise ConnectionError("the gateway\nis closed")
        raise Bury("too late")

    shop.work(handle, retry=AT_ONCE, name="anna")
    lines = [record for record in caplog.records if record.name == "duerow.worker"]
    failed = [line for line in lines if "failed" in line.getMessage()]
    assert [line.attempt for line in failed] == [1, 2]
    assert {(line.message_id, line.queue, line.worker, line.key) for line in failed} == {
        (pushed.id, "mail", "anna", "k-1")
    }
    assert failed[0].cause == "ConnectionError: the gateway is closed"
    assert "retry at" in failed[0].getMessage()
    (buried,) = [line for line in lines if "buried" in line.getMessage()]
    assert (buried.attempt, buried.cause, buried.levelno) == (3, "too late", logging.ERROR)
    fetched = [line for line in lines if line.getMessage() == "fetched 1 of mail"]
    assert [line.message_ids for line in fetched] == [[pushed.id]] * 3


def test_a_coroutine_handed_to_the_blocking_worker_is_refused_or_fails() -> None:
    shop = Workshop("blocking", "memory://coroutine")
    shop.queue.push("hello")

    async def handle(message: Message) -> None:
        raise AssertionError("nobody awaits it")

    from duerow.errors import ConfigurationError
    from duerow.sync.worker import Worker

    with pytest.raises(ConfigurationError, match=r"duerow\.aio\.Worker"):
        Worker(shop.queue, handle)
    Worker(shop.queue, lambda message: handle(message), retry=limited(1, AT_ONCE)).run("idle")
    (message,) = shop.queue.find()
    assert message.last_error is not None
    assert message.last_error.type == InvalidOutcome.__name__
