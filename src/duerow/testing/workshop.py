"""Both kinds of workers under one set of tests: handlers are written once, as coroutines that only wait for gates.

The async worker awaits such a handler. For the blocking one it is run to its end in the handler's thread, where a
gate blocks. Whatever a test checks it reads through a blocking handle of its own.
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

PATIENCE = 60.0
"""Seconds after which a test that waits for something gives up; no test is right because of them."""

Handler = Callable[..., Coroutine[Any, Any, Any]]
"""What handles a message or, asked so, a whole batch; a transactional one is given a connection as well."""


class Gate:
    """Something that handlers wait for, and that they can open for the test."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        """Let all through, now and later."""
        self._opened.set()

    def wait(self, seconds: float) -> bool:
        """Wait for so long at most; return whether it was opened."""
        return self._opened.wait(seconds)

    def block(self) -> None:
        """Wait in this thread, even if it is that of an event loop."""
        if not self._opened.wait(PATIENCE):
            raise AssertionError("nobody opened the gate")

    async def passed(self) -> None:
        """Wait, in a thread by blocking it, in a loop without blocking it."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.block()
            return
        while not self._opened.is_set():  # noqa: ASYNC110 - opened from any thread
            await asyncio.sleep(0.001)


def eventually(holds: Callable[[], Any]) -> Any:
    """Look again and again until something holds; return what it gave."""
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.002)
    return found


class Running(Protocol):
    """A worker at work in a thread of its own."""

    def stop(self) -> None:
        """Ask it to stop."""
        ...

    def join(self) -> None:
        """Wait for its end; raise what it ended with."""
        ...


@dataclass
class Workshop:
    """A queue, and workers of one kind for it.

    Attributes:
        kind: "async" for workers with tasks; all others have threads.
        url, settings: what `connect` is given, by the worker and by the test.
        db, queue: the test's own blocking handle.
        worker: the worker that has worked last in this thread.
        workers_url: what the worker's `connect` is given instead, if it is to be told apart.
        prepare: called with the worker's own database before it begins; tests break it there.
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
        """Whether its workers are async."""
        return self.kind == "async"

    def work(
        self,
        handler: Handler | dict[str, Handler],
        until: str | None = "idle",
        *,
        queue: dict[str, Any] | None = None,
        **terms: Any,
    ) -> None:
        """Let a worker work in this thread until it is done.

        Args:
            handler: for all messages, or one for each queue by its name.
            until: as `Worker.run`.
            queue: what the worker's handles of its queues are made with.
            terms: what the worker is made with; besides `names`, the queues that it works on if not on "mail" alone.
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
        """Let a worker work in a thread of its own; as `work` otherwise."""
        made = self._make(handler, queue or {}, terms)
        made.begin(until)
        self._started.append(made)
        return made

    def close(self) -> None:
        """Stop what still runs."""
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
        """The worker's own handle of the queue, or of several if the test named them."""
        self.queues = {name: db.queue(name, **self.queue) for name in self.names or ["mail"]}
        return [*self.queues.values()] if self.names else self.queues["mail"]

    def each(self, made: Callable[[Handler], Any]) -> Any:
        """The handler as the worker takes it, or one for each queue."""
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
    """Return a plain function that runs the coroutine to its end."""

    def call(*subject: Any) -> Any:
        running: Awaitable[Any] = handler(*subject)
        try:
            running.send(None)  # type: ignore[attr-defined]
        except StopIteration as ended:
            return ended.value
        raise AssertionError("a handler of these tests waits for gates alone")

    return call


def where(message: Message) -> Move:
    """Handle a message in any process: send on which it was, and whether that was a worker's own."""
    child = multiprocessing.parent_process() is not None
    return Move("done", {"n": message.payload, "pid": os.getpid(), "child": child, "asks": current() is None})


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
