"""A pipeline on plain workers, without Spark, runs until it is stopped, on both faces."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

import duerow
from duerow import Message, Pipeline, Relay, Sink, aio, fixed, limited
from duerow.errors import ConfigurationError
from duerow.testing.worker_harness import Gate, eventually


def two_stations(seen: Callable[[Message], Any]) -> Pipeline:
    """What goes through both stations is seen at the end."""
    return Pipeline("two", [Relay("first", lambda message: message.payload, to="last"), Sink("last", seen)])


class Blocking:
    """Runs a pipeline in this thread."""

    def run(self, pipeline: Pipeline, payloads: list[int], made: Callable[[Any], Any], until: Any = None) -> list[Any]:
        """Push, hand the pipeline's worker to the test, and let it work; return what is left."""
        with duerow.connect("memory://") as db:
            first = db.queue("first")
            for payload in payloads:
                first.push(payload)
            worker = pipeline.worker(db)
            made(worker)
            worker.run(until)
            return list(first.find())


class Awaited(Blocking):
    """Runs it on a loop of its own."""

    def run(self, pipeline: Pipeline, payloads: list[int], made: Callable[[Any], Any], until: Any = None) -> list[Any]:
        """As of the other one."""

        async def main() -> list[Any]:
            async with await aio.connect("memory://") as db:
                first = db.queue("first")
                for payload in payloads:
                    await first.push(payload)
                worker = pipeline.aworker(db)
                made(worker)
                await worker.run(until)
                return list(await first.find())

        return asyncio.run(main())


@pytest.fixture(params=[Blocking, Awaited])
def face(request: pytest.FixtureRequest) -> Blocking:
    """Each face in turn."""
    made: Blocking = request.param()
    return made


def test_a_pipeline_runs_until_it_is_stopped_from_the_program(face: Blocking) -> None:
    workers: list[Any] = []
    seen: list[int] = []

    def note(message: Message) -> None:
        seen.append(message.payload)
        if len(seen) == 3:
            workers[0].stop()

    assert face.run(two_stations(note), [1, 2, 3], workers.append) == []
    assert sorted(seen) == [1, 2, 3]


def test_a_pipeline_goes_on_when_nothing_is_due_and_handles_what_comes_later(face: Blocking) -> None:
    idle, handled = Gate(), Gate()

    def note(message: Message) -> None:
        idle.open()
        if message.payload == "later":
            handled.open()

    def later(worker: Any) -> None:
        def push_and_stop() -> None:
            idle.block()
            push = worker._database.queue("first").push("later")
            if asyncio.iscoroutine(push):
                asyncio.run(push)
            handled.block()
            worker.stop()

        threading.Thread(target=push_and_stop, daemon=True).start()

    assert face.run(two_stations(note), [1], later) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_pipeline_and_what_was_not_begun_stays(face: Blocking, number: signal.Signals) -> None:
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    stopped = Gate()
    workers: list[Any] = []

    def halt(message: Message) -> Any:
        if message.payload == 1:
            signal.pthread_kill(threading.main_thread().ident or 0, number)
            eventually(lambda: workers[0]._stops)
            eventually(lambda: all(one._run.over for one in _runs(workers[0])))
            stopped.open()
        return message.payload

    pipeline = Pipeline("one", [Sink("first", halt)])
    left = face.run(pipeline, [1, 2, 3], workers.append)
    assert stopped.wait(0)
    assert [(one.payload, one.attempts, one.leased_by) for one in left] == [(2, 0, None), (3, 0, None)]
    assert {one: signal.getsignal(one) for one in before} == before


def _runs(worker: Any) -> list[Any]:
    """What the workers of the stations do at the moment."""
    found = [getattr(one, "_handlers", None) or one for one in worker._workers.values()]
    return [one for one in found if getattr(one, "_run", None) is not None]


@pytest.mark.parametrize("until", [None, "idle", "empty"])
def test_a_pipeline_asked_to_stop_before_it_runs_returns_as_soon_as_it_does(face: Blocking, until: Any) -> None:
    def never(message: Message) -> None:
        raise AssertionError("it was to begin nothing")

    left = face.run(Pipeline("one", [Sink("first", never)]), [1], lambda worker: worker.stop(), until)
    assert [(one.payload, one.attempts, one.leased_by) for one in left] == [(1, 0, None)]


def test_a_pipeline_that_waits_for_delayed_messages_can_be_stopped() -> None:
    with duerow.connect("memory://") as db:
        db.queue("first").push(1, delay=timedelta(hours=1))
        worker = Pipeline("one", [Sink("first", lambda message: None)]).worker(db)
        running = threading.Thread(target=worker.run, args=("empty",))
        running.start()
        eventually(lambda: worker._workers)
        worker.stop()
        running.join(60)
        assert not running.is_alive()


def test_a_pipelines_worker_runs_once_at_a_time(face: Blocking) -> None:
    errors: list[str] = []

    def twice(worker: Any) -> None:
        def note(message: Message) -> None:
            try:
                again = worker.run("idle")
                if asyncio.iscoroutine(again):
                    asyncio.run(again)
            except ConfigurationError as error:
                errors.append(str(error))
            worker.stop()

        handlers.append(note)

    handlers: list[Callable[[Message], None]] = []
    face.run(Pipeline("one", [Sink("first", lambda message: handlers[0](message))]), [1], twice)
    assert len(errors) == 1
    assert "already" in errors[0]


def test_a_call_that_hangs_is_a_failed_attempt_and_the_station_goes_on_without_it(face: Blocking) -> None:
    gate = Gate()
    seen: list[Any] = []

    def hanging(message: Message) -> Any:
        if message.payload < 0:
            gate.block()
        return message.payload

    first = Relay("first", hanging, to="last", timeout=timedelta(seconds=1), retry=limited(1, fixed(timedelta(0))))
    pipeline = Pipeline("p", [first, Sink("last", lambda message: seen.append(message.payload))])

    # Although calls still hang, the run ends, and so does its event loop.
    left = face.run(pipeline, [-1, 1, -2, 2, 3], lambda worker: None, until="empty")
    gate.open()

    assert sorted(seen) == [1, 2, 3]
    assert [(one.payload, one.status) for one in left] == [(-1, "dead"), (-2, "dead")]
    for one in left:
        assert one.last_error.type == "TimedOut"
        assert "timeout of 0:00:01" in one.last_error.message


def test_calls_that_hang_take_no_thread_from_other_stations() -> None:
    gate = Gate()

    def hanging(message: Message) -> Any:
        gate.block()

    async def main() -> None:
        loop, handled = asyncio.get_running_loop(), asyncio.Event()
        loop.set_default_executor(ThreadPoolExecutor(1))

        def handle(message: Message) -> None:
            loop.call_soon_threadsafe(handled.set)

        async with await aio.connect("memory://") as db:
            await db.queue("hangs").push(1)
            await db.queue("works").push(2)
            stations = [Sink("hangs", hanging, timeout=timedelta(hours=1)), Sink("works", handle)]
            worker = Pipeline("p", stations).aworker(db)
            running = asyncio.create_task(worker.run())
            async with asyncio.timeout(60):
                await handled.wait()
            worker.stop()
            gate.open()
            await running

    asyncio.run(main())
