"""What a worker's options must be, and what a run makes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from duerow.errors import ConfigurationError, DuerowError
from duerow.queue.limits import RunLimits
from duerow.retry import DEFAULT, fixed, limited
from duerow.worker.in_flight import Slot
from duerow.worker.prefetch import BATCHES_AHEAD
from duerow.worker.run import Options, Run, check_async, check_handler, given_to

SECOND = timedelta(seconds=1)
REQUIRED: dict[str, Any] = {
    "batch": 10,
    "concurrency": 4,
    "lease": timedelta(minutes=1),
    "retry": DEFAULT,
    "timeout": None,
    "poll": None,
    "grace": SECOND,
    "name": "anna",
}


def options(**more: Any) -> Options:
    return Options(**{**REQUIRED, **more})


def a_run(retries: dict[str, Any] | None = None, **more: Any) -> Run:
    return Run("mail", options(**more), None, retries)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch", 0),
        ("concurrency", 0),
        ("whole_batch", 1),
        ("transactional", "yes"),
        ("singleton", None),
        ("cluster_concurrency", 0),
        ("grace", -SECOND),
        ("timeout", timedelta(0)),
        ("poll", timedelta(microseconds=1)),
        ("heartbeat", timedelta(minutes=2)),
        ("name", ""),
    ],
)
def test_an_option_that_is_out_of_bounds_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(DuerowError, match=rf"^(?:a worker's )?{name}\b"):
        options(**{name: value})


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            {"singleton": True, "cluster_concurrency": 2},
            "singleton allows one active worker, cluster_concurrency a number of handlers in all: give only one",
        ),
        (
            {"whole_batch": True, "transactional": True},
            "whole_batch and transactional cannot be combined: in one transaction no message could fail alone",
        ),
    ],
)
def test_options_that_exclude_each_other_are_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        options(**more)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("more", "one_by_one", "by_permit"),
    [
        ({}, False, False),
        ({"batch": 1}, True, False),
        ({"batch": 1, "singleton": True}, False, True),
        ({"batch": 1, "cluster_concurrency": 2}, False, True),
    ],
)
def test_messages_are_claimed_one_by_one_in_batches_of_one_unless_permits_are_needed(
    more: dict[str, Any], one_by_one: bool, by_permit: bool
) -> None:
    assert (options(**more).one_by_one, options(**more).by_permit) == (one_by_one, by_permit)


def ahead(worker_run: Run) -> int:
    """Return how many messages a run claims ahead once its handlers have turned out to be quick."""
    for _ in range(100):
        worker_run.in_flight.prefetch.note(0.000_001)
    return worker_run.in_flight.prefetch.most - worker_run.in_flight.prefetch.at_once


@pytest.mark.parametrize(
    ("more", "batches"),
    [
        ({}, BATCHES_AHEAD),
        ({"whole_batch": True}, BATCHES_AHEAD),
        ({"rate": (5, SECOND)}, 0),
        ({"cluster_concurrency": 2}, 0),
        ({"retry": limited(1, fixed(SECOND))}, 0),
    ],
)
def test_nothing_is_claimed_ahead_under_a_rate_by_permit_or_for_the_only_attempt(
    more: dict[str, Any], batches: int
) -> None:
    assert ahead(a_run(**more)) == batches * 10


def test_without_a_permit_a_run_holds_nothing() -> None:
    assert a_run(singleton=True).in_flight.room() == 0
    assert a_run().in_flight.room() == 4


def test_a_handler_of_whole_batches_has_room_for_a_batch() -> None:
    worker_run = a_run(whole_batch=True)
    assert (worker_run.width, worker_run.in_flight.prefetch.at_once) == (10, 40)
    assert (a_run().width, a_run().in_flight.prefetch.at_once) == (1, 4)


def test_a_run_on_several_queues_knows_their_names_and_retry_policies() -> None:
    policy = limited(3, fixed(SECOND))
    worker_run = a_run({"mail": DEFAULT, "orders": policy})
    assert worker_run.queues == ["mail", "orders"]
    assert worker_run.policy_of("orders") is policy
    assert a_run().queues == ["mail"]
    assert a_run().policy_of("mail") is DEFAULT


def test_a_run_is_careful_if_one_of_its_queues_allows_one_attempt_only() -> None:
    assert a_run({"mail": DEFAULT, "orders": limited(1, fixed(SECOND))}).in_flight.prefetch.careful
    assert not a_run({"mail": DEFAULT, "orders": limited(2, fixed(SECOND))}).in_flight.prefetch.careful


@pytest.mark.parametrize(
    ("elastic", "limit", "handlers"), [(False, None, 4), (False, 2, 2), (False, 9, 4), (True, 9, 9), (True, 2, 2)]
)
def test_operators_may_let_fewer_handlers_run_and_more_where_that_is_of_use(
    elastic: bool, limit: int | None, handlers: int
) -> None:
    worker_run = a_run(elastic=elastic)
    worker_run.limit(RunLimits(concurrency=limit))
    assert worker_run.concurrency == handlers


def test_a_permit_is_for_one_handler_and_that_of_a_singleton_for_all_of_them() -> None:
    assert [a_run(cluster_concurrency=9, whole_batch=True).handlers_for(permits) for permits in (0, 2)] == [0, 20]
    assert [a_run(singleton=True).handlers_for(permits) for permits in (0, 1)] == [0, 4]


def test_a_slot_leaves_only_if_there_are_too_many() -> None:
    worker_run = a_run()
    slots = [Slot() for _ in range(5)]
    worker_run.slots.update(slots[:4])
    assert not worker_run.leave(slots[0])
    worker_run.slots.add(slots[4])
    assert worker_run.crowded
    assert not worker_run.leave(Slot())
    assert worker_run.leave(slots[0])
    assert not worker_run.leave(slots[1])


def test_a_run_sleeps_as_long_as_its_options_say_and_else_longer_if_pushes_wake_it() -> None:
    assert a_run(poll=3 * SECOND).poll == 3.0
    worker_run = a_run()
    deaf = worker_run.poll
    worker_run.hears = True
    assert (deaf, worker_run.poll) == (1.0, 5.0)


async def awaited(message: object) -> None: ...


def plain(message: object) -> None: ...


class Awaited:
    """An object whose call is awaited."""

    async def __call__(self, message: object) -> None: ...


def generator(message: object) -> Iterator[int]:
    yield 1


async def async_generator(message: object) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("handler", [awaited, Awaited()], ids=["function", "object"])
def test_an_async_handler_needs_an_async_worker_and_no_processes(handler: Callable[..., Any]) -> None:
    check_async(handler, None, awaited=True)
    with pytest.raises(ConfigurationError, match=r"is an async function; give it to duerow\.aio\.Worker$"):
        check_async(handler, None, awaited=False)
    with pytest.raises(ConfigurationError, match=r"is an async function; processes= takes plain functions$"):
        check_async(handler, 2, awaited=True)
    check_async(plain, 2, awaited=False)


@pytest.mark.parametrize(
    ("handler", "why"),
    [
        (7, r"^a handler must be a function of one message, not 7$"),
        (generator, r"is a generator function, so calling it runs nothing; return the outcome instead of yielding it$"),
        (async_generator, r"is a generator function, so calling it runs nothing"),
        (lambda: None, r"^the handler .*message"),
    ],
    ids=["no function", "generator", "async generator", "no argument"],
)
def test_a_handler_that_cannot_be_called_with_a_message_or_would_not_run_is_refused(handler: Any, why: str) -> None:
    check_handler(plain, "message")
    with pytest.raises(ConfigurationError, match=why):
        check_handler(handler, "message")


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ((False, False, False), ("message",)),
        ((False, True, False), ("messages",)),
        ((False, False, True), ("message", "connection")),
        ((True, False, False), ("row", "session")),
        ((True, True, False), ("rows", "session")),
    ],
)
def test_a_handler_is_given_what_its_worker_works_on(how: tuple[bool, bool, bool], names: tuple[str, ...]) -> None:
    assert given_to(*how) == names
