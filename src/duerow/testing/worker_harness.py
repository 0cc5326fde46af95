"""One set of tests for both kinds of workers: handlers are written once, as coroutines that wait for gates.

The async worker awaits such a handler. The blocking worker runs it to its end in the handler's thread, where a gate
blocks. A test checks results through a separate blocking handle.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

import duerow
from duerow import Message, Move, aio, current
from duerow.aio.worker import Worker as AsyncWorker
from duerow.sync.worker import Worker

PATIENCE = 300.0
"""Seconds after which a waiting test gives up; no test depends on this time."""

Handler = Callable[..., Coroutine[Any, Any, Any]]
"""Handles a message or a whole batch; a transactional handler gets a connection as well."""


class Gate:
    """An event for which handlers wait until a test sets it, or the other way round."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        """Let everything through, now and later."""
        self._opened.set()

    def wait(self, seconds: float) -> bool:
        """Wait at most this long; return whether it was opened."""
        return self._opened.wait(seconds)

    def block(self) -> None:
        """Block this thread, even if it is an event loop's."""
        if not self._opened.wait(PATIENCE):
            raise AssertionError("nobody opened the gate")

    async def passed(self) -> None:
        """Wait: in a thread by blocking it, in an event loop without blocking it."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.block()
            return
        while not self._opened.is_set():  # noqa: ASYNC110 - opened from any thread
            await asyncio.sleep(0.001)


def eventually(holds: Callable[[], Any]) -> Any:
    """Call a function until it returns a true value; return that value.

    The longer it takes, the more seldom it is called: a query every other millisecond would slow down what is awaited.
    """
    began = time.monotonic()
    while not (found := holds()):
        waited = time.monotonic() - began
        assert waited < PATIENCE, "the condition never became true"
        time.sleep(min(0.002 + waited / 8, 0.1))
    return found


class Running(Protocol):
    """A worker that runs in a separate thread."""

    def stop(self) -> None:
        """Ask the worker to stop."""
        ...

    def join(self) -> None:
        """Wait until the worker ends; raise its exception."""
        ...


@dataclass
class Workshop:
    """A queue, and workers of one kind for it.

    Attributes:
        kind: "async" for workers with asyncio tasks; all others use threads.
        url, settings: the arguments of `connect`, for the worker and for the test.
        db, queue: the test's own blocking handle.
        worker: the worker that ran last in this thread.
        workers_url: a different URL for the worker's `connect`, to tell its connections apart.
        prepare: called with the worker's database before it starts, so that a test can break it.
    """

    kind: str
    url: str
    settings: dict[str, Any] = field(default_factory=dict)
    workers_url: str | None = None
    prepare: Callable[[Any], None] = lambda db: None

    def __post_init__(self) -> None:
        self.db = duerow.connect(self.url, migrate=True, **self.settings)
        self.queue = self.db.queue("mail")
        self._started: list[Running] = []
        self.worker: Any = None

    @property
    def is_async(self) -> bool:
        """Whether the workers are async."""
        return self.kind == "async"

    def work(
        self,
        handler: Handler | dict[str, Handler],
        until: str | None = "idle",
        *,
        queue: dict[str, Any] | None = None,
        **terms: Any,
    ) -> None:
        """Run a worker in this thread until it ends.

        Args:
            handler: the handler of all messages, or one for each queue by name.
            until: as for `Worker.run`.
            queue: arguments for the handles of the worker's queues.
            terms: arguments for the worker, and `names`: its queues, by default only "mail".
        """
        made = self._make(handler, queue or {}, terms)
        try:
            made.run(until)
        finally:
            self.worker = made.worker

    def start(
        self,
        handler: Handler | dict[str, Handler],
        until: str | None = None,
        *,
        queue: dict[str, Any] | None = None,
        **terms: Any,
    ) -> Running:
        """Run a worker in a separate thread; otherwise like `work`."""
        made = self._make(handler, queue or {}, terms)
        made.begin(until)
        self._started.append(made)
        return made

    def close(self) -> None:
        """Stop the workers that are still running."""
        for running in self._started:
            running.stop()
            running.stop()
            running.join()
        self.db.close()

    def _make(self, handler: Handler | dict[str, Handler], queue: dict[str, Any], terms: dict[str, Any]) -> _InThread:
        maker = _Async if self.is_async else _Blocking
        return maker(self, handler, queue, terms)


class _InThread:
    def __init__(
        self, shop: Workshop, handler: Handler | dict[str, Handler], queue: dict[str, Any], terms: dict[str, Any]
    ) -> None:
        self.shop, self.handler, self.queue, self.terms = shop, handler, queue, dict(terms)
        self.names = self.terms.pop("names", None)
        self.queues: dict[str, Any] = {}
        self.error: BaseException | None = None
        self.worker: Any = None
        self.made = threading.Event()
        self.thread: threading.Thread | None = None

    def sources(self, db: Any) -> Any:
        """Return the worker's own handle to the queue, or to several queues if the test named them."""
        self.queues = {name: db.queue(name, **self.queue) for name in self.names or ["mail"]}
        return [*self.queues.values()] if self.names else self.queues["mail"]

    def each(self, made: Callable[[Handler], Any]) -> Any:
        """Return the handler in the form that the worker takes, or one handler for each queue."""
        if isinstance(self.handler, dict):
            return {self.queues[name]: made(handler) for name, handler in self.handler.items()}
        return made(self.handler)

    def run(self, until: Any) -> None:
        raise NotImplementedError

    def begin(self, until: Any) -> None:
        def body() -> None:
            try:
                self.run(until)
            except BaseException as error:
                self.error = error
            finally:
                self.made.set()

        self.thread = threading.Thread(target=body, daemon=True)
        self.thread.start()
        self.made.wait(PATIENCE)

    def stop(self) -> None:
        if self.worker is not None:
            self.worker.stop()

    def join(self) -> None:
        assert self.thread is not None
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the worker did not stop"
        error, self.error = self.error, None
        if error is not None:
            raise error


class _Blocking(_InThread):
    def run(self, until: Any) -> None:
        with duerow.connect(self.shop.workers_url or self.shop.url, **self.shop.settings) as db:
            self.shop.prepare(db)
            self.worker = Worker(self.sources(db), self.each(blocking), **self.terms)
            self.made.set()
            self.worker.run(until)


class _Async(_InThread):
    def run(self, until: Any) -> None:
        asyncio.run(self._run(until))

    async def _run(self, until: Any) -> None:
        async with await aio.connect(self.shop.workers_url or self.shop.url, **self.shop.settings) as db:
            self.shop.prepare(db)
            self.worker = AsyncWorker(self.sources(db), self.each(lambda handler: handler), **self.terms)
            self.made.set()
            await self.worker.run(until)


def blocking(handler: Handler) -> Callable[..., Any]:
    """Return a plain function that runs a coroutine function to its end."""

    def call(*subject: Any) -> Any:
        running: Awaitable[Any] = handler(*subject)
        try:
            running.send(None)  # type: ignore[attr-defined]
        except StopIteration as ended:
            return ended.value
        raise AssertionError("handlers in these tests may wait only for gates")

    return call


def where(message: Message) -> Move:
    """Handle a message in any process, and push the id of that process."""
    child = multiprocessing.parent_process() is not None
    return Move("done", {"n": message.payload, "pid": os.getpid(), "child": child, "asks": current() is None})


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
