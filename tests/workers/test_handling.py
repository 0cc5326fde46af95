"""What a handler returns or raises is how the turn of its message ends, and of that message alone."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from duerow import Bury, Commit, Draft, Message, Move, Retry, Rollback, bury, by_error, fixed, limited, on, snooze
from duerow.errors import InvalidOutcome
from duerow.settlement import Settlement
from duerow.working.attempt import current
from tests.workers.workshop import Workshop

AT_ONCE = fixed(timedelta(0))
WAYS = [
    pytest.param({"batch": 1}, id="one-by-one"),
    pytest.param({"batch": 1, "concurrency": 3}, id="one-by-one-in-three"),
    pytest.param({"batch": 10}, id="batches"),
    pytest.param({"batch": 10, "concurrency": 3}, id="batches-in-three"),
]


@pytest.mark.parametrize("terms", WAYS)
def test_every_message_is_handled_once_and_leaves_the_queue(shop: Workshop, terms: dict[str, Any]) -> None:
    shop.queue.push_many([Draft(number) for number in range(100)])
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, "empty", **terms)
    assert Counter(seen) == Counter(range(100))
    assert shop.queue.count() == 0


def test_one_handler_gets_the_messages_in_the_order_in_which_they_are_due(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(50)])
    seen: list[int] = []

    async def handle(message: Message) -> None:
        seen.append(message.payload)

    shop.work(handle, batch=7)
    assert seen == list(range(50))


@pytest.mark.parametrize("terms", WAYS)
def test_a_failed_attempt_is_tried_again_until_its_policy_gives_up(shop: Workshop, terms: dict[str, Any]) -> None:
    shop.queue.push_many([Draft(number) for number in range(20)])
    tries: Counter[int] = Counter()

    async def handle(message: Message) -> None:
        tries[message.payload] += 1
        if message.payload in (3, 11):
            raise ValueError(f"cannot handle {message.payload}")

    shop.work(handle, retry=limited(3, AT_ONCE), **terms)
    assert tries == {number: 3 if number in (3, 11) else 1 for number in range(20)}
    dead = shop.queue.find()
    assert [(one.payload, one.status, one.attempts) for one in dead] == [(3, "dead", 3), (11, "dead", 3)]
    assert dead[0].last_error is not None
    assert dead[0].last_error.message == "ValueError: cannot handle 3"
    assert "in handle" in (dead[0].last_error.traceback or "")


def test_the_queues_own_policy_holds_unless_the_worker_has_one(shop: Workshop) -> None:
    shop.queue.push("hello")
    tries: list[int] = []

    async def handle(message: Message) -> None:
        tries.append(message.attempts)
        raise ValueError

    shop.work(handle, queue={"retry": limited(2, AT_ONCE)})
    assert tries == [1, 2]


def test_the_error_of_a_message_chooses_its_policy(timeless: Workshop) -> None:
    errors = [ValueError("no"), ConnectionResetError("line"), BlockingIOError("not yet"), KeyError("other")]
    timeless.queue.push_many([Draft(number) for number in range(len(errors))])
    now = timeless.settings["clock"].now()

    async def handle(message: Message) -> None:
        raise errors[message.payload]

    minute, hour = timedelta(minutes=1), timedelta(hours=1)
    policy = by_error(
        on(ValueError, bury),
        on(ConnectionError, fixed(minute)),
        on(BlockingIOError, snooze(hour)),
        otherwise=limited(1, fixed(minute)),
    )
    timeless.work(handle, retry=policy)
    left = {one.payload: (one.status, one.due_at) for one in timeless.queue.find()}
    assert left == {0: ("dead", None), 1: ("dead", None), 2: ("error", now + hour), 3: ("dead", None)}


@pytest.mark.parametrize("way", ["returned", "raised"])
def test_retry_says_when_the_next_attempt_is_due(timeless: Workshop, way: str) -> None:
    pushed = timeless.queue.push("hello")

    async def handle(message: Message) -> Any:
        wish = Retry(after=timedelta(minutes=7))
        if way == "raised":
            raise wish
        return wish

    timeless.work(handle)
    message = timeless.queue.get(pushed.id)
    assert message is not None
    assert (message.status, message.attempts) == ("error", 1)
    assert message.due_at == timeless.settings["clock"].now() + timedelta(minutes=7)


def test_a_retry_that_does_not_count_outlasts_the_limit(shop: Workshop) -> None:
    shop.queue.push("hello")

    async def handle(message: Message) -> None:
        if message.attempts < 5:
            raise Retry(after=timedelta(0), counts=False)

    shop.work(handle, retry=limited(2, AT_ONCE))
    assert shop.queue.count() == 0


@pytest.mark.parametrize("way", ["returned", "raised"])
def test_bury_gives_a_message_up_at_once(shop: Workshop, way: str) -> None:
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


def test_what_is_returned_is_ignored_unless_it_ends_a_turn(shop: Workshop) -> None:
    outcomes: list[Any] = [True, "text", 7, [1, 2], {"a": 1}, object(), int]
    shop.queue.push_many([Draft(number) for number in range(len(outcomes))])

    async def handle(message: Message) -> Any:
        return outcomes[message.payload]

    shop.work(handle)
    assert shop.queue.count() == 0


def test_a_returned_move_sends_the_message_on(shop: Workshop) -> None:
    shop.queue.push({"n": 1}, key="k")

    async def handle(message: Message) -> Settlement:
        return Move("billing", patch={"m": 2})

    shop.work(handle)
    (moved,) = shop.db.queue("billing").find()
    assert (moved.payload, moved.key, moved.attempts) == ({"n": 1, "m": 2}, "k", 0)


def test_a_list_of_moves_sends_a_new_message_to_each(shop: Workshop) -> None:
    pushed = shop.queue.push("hello")

    async def handle(message: Message) -> list[Move]:
        return [Move("billing", "a"), Move("shipping")]

    shop.work(handle)
    found = [shop.db.queue(name).find()[0] for name in ("billing", "shipping")]
    assert [one.payload for one in found] == ["a", "hello"]
    assert [one.headers["parent"] for one in found] == [pushed.id, pushed.id]
    assert shop.queue.count() == 0


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


def test_what_one_store_cannot_do_is_a_failed_attempt_of_that_message_alone(kind: str) -> None:
    shop = Workshop(kind, f"memory://no-transactions-{kind}?transactions=off")
    shop.queue.push_many([Draft(number) for number in range(10)])

    async def handle(message: Message) -> Any:
        return [Move("billing"), Move("shipping")] if message.payload == 6 else None

    shop.work(handle, retry=limited(2, AT_ONCE))
    (message,) = shop.queue.find()
    assert (message.payload, message.status) == (6, "dead")
    assert message.last_error is not None
    assert message.last_error.type == "NotSupported"


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
    assert any("retry policy" in record.message for record in caplog.records if record.levelno == logging.ERROR)


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
    failed = [line for line in lines if "failed" in line.message]
    assert [line.attempt for line in failed] == [1, 2]
    assert {(line.message_id, line.queue, line.worker, line.key) for line in failed} == {
        (pushed.id, "mail", "anna", "k-1")
    }
    assert failed[0].cause == "ConnectionError: the gateway is closed"
    assert "retry at" in failed[0].message
    (buried,) = [line for line in lines if "buried" in line.message]
    assert (buried.attempt, buried.cause, buried.levelno) == (3, "too late", logging.ERROR)
    fetched = [line for line in lines if line.message == "fetched 1 of mail"]
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
