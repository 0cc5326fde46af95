"""The stack of a running handler is that of all kinds of handlers, as far as Python can look."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import duerow
from duerow import Message
from duerow.encryption import Encryption
from duerow.errors import InvalidMessage, NotInProgress
from duerow.queue.beside import own_key
from duerow.telemetry.process import Events, watch
from duerow.testing.conformance.fixtures import Place
from duerow.testing.worker_harness import PATIENCE, Gate, Workshop, eventually
from duerow.worker import cancellation
from duerow.worker.attempt import Attempt
from duerow.worker.stack import NOT_BEGUN, NOT_PYTHON, SILENT, StackFrame, answer
from tests.workers import jobs

BEAT = timedelta(milliseconds=100)
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def store() -> str:
    """One family of databases: what stacks are made of is the same on all."""
    return "memory"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No handler has to run for a second before its worker listens."""
    monkeypatch.setattr(cancellation, "LONG", 0.05)


@pytest.fixture
def gate() -> Iterator[Gate]:
    """What handlers hang at until the test is over."""
    gate = Gate()
    yield gate
    gate.open()


def frames(shop: Workshop, id: int) -> Sequence[StackFrame]:
    """Return the frames of a message's handler; none if it has not begun."""
    try:
        return shop.queue.stack(id, wait=timedelta(seconds=PATIENCE)).frames
    except NotInProgress:  # until its handler is ready, a worker may give it back
        return ()


def functions(shop: Workshop, handler: Any, **terms: Any) -> list[str]:
    """Return which functions a handler that hangs is in, from the outermost on, as its worker tells it."""
    pushed = shop.queue.push("hang")
    shop.start(handler, heartbeat=BEAT, grace=timedelta(0), **terms)
    told = eventually(lambda: frames(shop, pushed.id))
    found = [frame.function.rpartition(".")[2] for frame in told]
    return found[found[0] == "call" :]  # without the workshop's own, which calls handlers for threads


def test_of_a_handler_in_a_child_process_it_is_that_of_the_child(shop: Workshop, monkeypatch: Any) -> None:
    monkeypatch.setattr("duerow.testing.worker_harness.blocking", lambda handler: handler)
    assert functions(shop, jobs.act, processes=1)[0] == "act"


def test_of_a_batch_it_is_that_of_the_handler_of_all(shop: Workshop, gate: Gate) -> None:
    async def handle(messages: list[Message]) -> None:
        await gate.passed()

    assert functions(shop, handle, whole_batch=True)[:2] == ["handle", "passed"]


def test_of_a_handler_that_blocks_its_loop_it_is_that_of_the_thread(shop: Workshop, gate: Gate) -> None:
    async def handle(message: Message) -> None:
        gate.block()

    assert functions(shop, handle)[:2] == ["handle", "block"]


def test_it_begins_with_the_users_code_although_telemetry_is_around_the_handler(shop: Workshop, gate: Gate) -> None:
    class Heard(Events):
        """What an application listens with."""

    async def handle(message: Message) -> None:
        await gate.passed()

    ends = [watch(Heard()), watch(Heard())]
    try:
        assert functions(shop, handle)[:2] == ["handle", "passed"]
    finally:
        for end in ends:
            end()


@pytest.mark.parametrize("face", ["async"], indirect=True)
def test_what_a_task_awaits_is_followed_into_other_tasks_and_threads(shop: Workshop, gate: Gate) -> None:
    async def inner() -> None:
        await asyncio.to_thread(gate.block)

    async def handle(message: Message) -> None:
        await asyncio.create_task(inner())

    found = functions(shop, handle)
    assert found[:3] == ["handle", "inner", "to_thread"]
    assert "block" in found


class Anything:
    """An object that can be awaited, and has every attribute."""

    def __init__(self, awaited: Any = None) -> None:
        self.awaited = awaited

    def __getattr__(self, name: str) -> Anything:
        return Anything()

    def __await__(self) -> Anything:
        return self

    def __iter__(self) -> Anything:
        return self

    def __next__(self) -> Any:
        return next(self.awaited)


@pytest.mark.parametrize("face", ["async"], indirect=True)
def test_what_is_no_coroutine_is_not_followed(shop: Workshop, gate: Gate) -> None:
    async def handle(message: Message) -> None:
        await Anything(gate.passed().__await__())

    assert functions(shop, handle) == ["handle"]


def test_a_question_that_nobody_answers_is_taken_back(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, asked = shop.queue, shop.db.queue("mail/stack")
    pushed = queue.push("ends")
    taken = queue.reserve()
    assert taken is not None
    check = queue._check_in_progress
    checks = iter([check, lambda id: (taken.commit(), check(id))])
    monkeypatch.setattr(queue, "_check_in_progress", lambda id: next(checks)(id))
    with pytest.raises(InvalidMessage, match="no message"):
        queue.stack(pushed.id)
    assert asked.count() == 0


def test_an_answer_that_this_version_does_not_know_is_none(shop: Workshop) -> None:
    shop.db.queue("mail/stack").push({"odd": 1}, key=own_key(7), delay=timedelta(hours=1))
    assert shop.queue.last_stack(7) is None


@pytest.mark.parametrize("face", ["sync"], indirect=True)
def test_a_handler_that_runs_an_event_loop_is_followed_into_it(
    shop: Workshop, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duerow.testing.worker_harness.blocking", lambda handler: handler)

    def handle(message: Message) -> None:
        asyncio.run(gate.passed())

    found = functions(shop, handle)
    assert (found[0], found[found.index("passed") :][:1]) == ("handle", ["passed"])


def test_a_stack_that_cannot_be_reported_stops_neither_others_nor_later_ones(
    shop: Workshop, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing, failed = ["first"], Gate()

    def answered(attempt: Attempt, *given: Any) -> Any:
        if attempt.message.payload in failing:
            failed.open()
            raise InvalidMessage("too long a stack")
        return answer(attempt, *given)

    for face in ("aio", "sync"):
        monkeypatch.setattr(f"duerow.{face}.worker_steps.answer", answered)

    async def handle(message: Message) -> None:
        await gate.passed()

    first, second = shop.queue.push("first"), shop.queue.push("second")
    shop.start(handle, concurrency=2, heartbeat=BEAT, grace=timedelta(0))
    eventually(lambda: shop.queue.stats(exact=True).leased == 2)
    shop.db.queue("mail/stack").push(None, key=own_key(first.id), delay=timedelta(hours=1))
    failed.block()
    assert eventually(lambda: frames(shop, second.id))
    failing.clear()
    assert eventually(lambda: frames(shop, first.id))
    said = [one for one in caplog.messages if "too long a stack" in one]
    assert said == [f"the stack of message {first.id} cannot be reported: too long a stack"]


def test_stacks_are_encrypted_where_payloads_are(kind: str, place: Place, gate: Gate) -> None:
    async def handle(message: Message) -> None:
        await gate.passed()

    sealed = Workshop(kind, place.url, {"encryption": Encryption([Encryption.new_key()])})
    with closing(sealed), duerow.connect(place.url) as plain:
        assert functions(sealed, handle)[0] == "handle"
        (kept,) = plain.queue("mail/stack").find()
        assert "handle" not in str(kept.payload)


def test_why_there_are_no_frames_is_said() -> None:
    message: Any = SimpleNamespace(attempts=2)
    attempt: Any = SimpleNamespace(message=message)

    def silent() -> list[StackFrame]:
        raise TimeoutError

    assert answer(attempt, None, "w", AT).note == NOT_BEGUN

    def broken() -> list[StackFrame]:
        raise KeyError("a local variable")

    assert answer(attempt, silent, "w", AT).note == SILENT
    assert answer(attempt, broken, "w", AT).note == "its worker could not inspect it: KeyError"
    assert answer(attempt, tuple, "w", AT).note == NOT_PYTHON
    told = answer(attempt, lambda: [StackFrame("shop.py", 7, "send")], "w", AT)
    assert (told.attempt, told.note, told.frames[0].shown) == (2, None, 'File "shop.py", line 7, in send')
