"""Middleware is called around each call of a handler, the first outermost, and may change how the turn ends."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from datetime import timedelta
from inspect import isawaitable
from typing import Any

import pytest

import duerow
from duerow import Bury, Draft, Message, current, fixed, limited
from duerow.errors import ConfigurationError
from duerow.sync.worker import Worker
from duerow.testing.worker_harness import Workshop

ONCE = limited(1, fixed(timedelta(0)))


async def through(call_next: Callable[[Any], Any], subject: Any) -> Any:
    """Call on, as middleware of either kind does."""
    outcome = call_next(subject)
    return await outcome if isawaitable(outcome) else outcome


def made(shop: Workshop, layer: Any) -> Any:
    """A layer as the kind of worker takes it, from a coroutine function that waits for nothing but what is inside."""
    if shop.is_async:
        return layer

    def call(subject: Any, call_next: Callable[[Any], Any]) -> Any:
        try:
            layer(subject, call_next).send(None)
        except StopIteration as ended:
            return ended.value
        raise AssertionError("it waits")

    return call


def test_the_first_is_outermost_and_each_sees_the_outcome_of_what_is_inside(shop: Workshop) -> None:
    shop.queue.push("hello")
    seen: list[Any] = []

    def layer(name: str) -> Any:
        async def around(message: Message, call_next: Any) -> Any:
            seen.append(f"{name} in")
            outcome = await through(call_next, message)
            seen.append((f"{name} out", outcome))
            return outcome

        return made(shop, around)

    async def handle(message: Message) -> str:
        seen.append(message.payload)
        return "result"

    shop.work(handle, middleware=[layer("a"), layer("b")])
    assert seen == ["a in", "b in", "hello", ("b out", "result"), ("a out", "result")]
    assert shop.queue.count() == 0


def test_an_exception_passes_through_it_and_may_be_changed_there(shop: Workshop) -> None:
    shop.queue.push_many([Draft("raised"), Draft("turned"), Draft("forgiven")])

    async def around(message: Message, call_next: Any) -> Any:
        try:
            return await through(call_next, message)
        except KeyError as error:
            if message.payload == "forgiven":
                return None
            raise (Bury("turned") if message.payload == "turned" else error) from error

    async def handle(message: Message) -> None:
        raise KeyError(message.payload)

    shop.work(handle, middleware=[made(shop, around)], retry=ONCE)
    left = {one.payload: getattr(one.last_error, "message", "") for one in shop.queue.find()}
    assert left == {"raised": "KeyError: 'raised'", "turned": "turned"}


def test_its_own_exception_is_a_failed_attempt(shop: Workshop) -> None:
    shop.queue.push("hello")

    async def around(message: Message, call_next: Any) -> Any:
        raise ValueError("not today")

    async def handle(message: Message) -> None:
        raise AssertionError("it was not called")

    shop.work(handle, middleware=[made(shop, around)], retry=ONCE)
    (message,) = shop.queue.find()
    assert (message.status, message.last_error and message.last_error.message) == ("dead", "ValueError: not today")


def test_the_handler_runs_in_its_context_and_has_its_attempt(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number, headers={"trace": f"t-{number}"}) for number in range(5)])
    trace: ContextVar[str] = ContextVar("trace", default="none")
    seen: list[tuple[int, str, bool]] = []

    async def around(message: Message, call_next: Any) -> Any:
        token = trace.set(str(message.headers["trace"]))
        try:
            return await through(call_next, message)
        finally:
            trace.reset(token)

    async def handle(message: Message) -> None:
        attempt = current()
        seen.append((message.payload, trace.get(), attempt is not None and attempt.message is message))

    shop.work(handle, middleware=[made(shop, around)], concurrency=2)
    assert sorted(seen) == [(number, f"t-{number}", True) for number in range(5)]


def test_around_a_batch_it_is_given_the_list(shop: Workshop) -> None:
    shop.queue.push_many([Draft(number) for number in range(5)])
    seen: list[Any] = []

    async def around(messages: list[Message], call_next: Any) -> Any:
        seen.append([message.payload for message in messages])
        return await through(call_next, messages)

    async def handle(messages: list[Message]) -> list[Any]:
        return [Bury("odd") if message.payload % 2 else None for message in messages]

    shop.work(handle, middleware=[made(shop, around)], whole_batch=True)
    assert seen == [[0, 1, 2, 3, 4]]
    assert [one.payload for one in shop.queue.find()] == [1, 3]


def test_around_a_transactional_handler_the_connection_passes_it_by(shop: Workshop) -> None:
    if shop.url.startswith("memory"):
        return
    shop.queue.push("hello")
    seen: list[Any] = []

    async def around(message: Message, call_next: Any) -> Any:
        seen.append(message.payload)
        return await through(call_next, message)

    async def handle(message: Message, connection: Any) -> None:
        seen.append(type(connection).__name__)

    shop.work(handle, middleware=[made(shop, around)], transactional=True)
    assert seen == ["hello", "AsyncConnection" if shop.is_async else "Connection"]
    assert shop.queue.count() == 0


def test_what_is_no_middleware_is_refused_when_the_worker_is_made() -> None:
    queue = duerow.connect("memory://").queue("mail")

    async def awaited(message: Message, call_next: Any) -> None:
        raise AssertionError

    wrong: list[tuple[Any, str]] = [(print, "a list"), (["log"], "'log'"), ([awaited], r"duerow\.aio\.Worker")]
    for middleware, said in wrong:
        with pytest.raises(ConfigurationError, match=said):
            Worker(queue, print, middleware=middleware)
