"""Queues in a FastAPI or Starlette application: opened, worked on and closed in its lifespan.

queues = StarletteQueues("postgresql://app@localhost/shop")
mail = queues.queue("mail")

@mail.handler
async def send(message): ...

app = FastAPI(lifespan=queues.lifespan)

@app.post("/orders")
async def order(mail: Annotated[Queue, Depends(mail)]):
    await mail.push({"to": "ana@example.org"})
"""
# No `from __future__ import annotations`: FastAPI reads the annotations of `StarletteQueue.__call__`.

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import wraps
from inspect import isawaitable
from typing import Any, Final

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from duerow.aio.database import Database, connect
from duerow.aio.queue import Queue
from duerow.aio.tasks import Tasks
from duerow.aio.worker import Worker
from duerow.contrib.declared import DeclaredQueue, DeclaredQueues
from duerow.errors import ConfigurationError
from duerow.worker.health import Health, health_of_all
from duerow.worker.run import check_handler, given_to, is_async

LOG: Final = logging.getLogger("duerow.worker")

Lifespan = Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any] | None]]


class StarletteQueue(DeclaredQueue):
    """A queue of an application; as a FastAPI dependency, the `duerow.aio.Queue` of the running application."""

    queues: "StarletteQueues"

    def __call__(self, connection: HTTPConnection) -> Queue[Any]:
        """Return the queue of the running application; for `Depends`."""
        return self.opened

    @property
    def opened(self) -> Queue[Any]:
        """The queue of the running application.

        Raises:
            ConfigurationError: the application is not running.
        """
        return self.queues.opened(self)


class StarletteQueues(DeclaredQueues[StarletteQueue, Tasks]):
    """The queues of an application.

    Args:
        target: what `duerow.aio.connect` takes: a URL, or an SQLAlchemy AsyncEngine.
        workers: whether the application runs the handlers itself. If not, `duerow worker MODULE:queues` runs them
            elsewhere.
        options: further options of `duerow.aio.connect`, such as `migrate=True`.
    """

    def __init__(self, target: Any, *, workers: bool = True, **options: Any) -> None:
        super().__init__(StarletteQueue)
        self._target, self._options, self._works = target, options, workers
        self._database: Database | None = None
        self._opened: dict[str, Queue[Any]] = {}
        self._running: list[Worker] = []

    def _make_tasks(self, settings: dict[str, Any]) -> Tasks:
        return Tasks(**settings)

    def _declare(self, queue: StarletteQueue) -> None:
        queue.queues = self

    @property
    def database(self) -> Database:
        """The open database.

        Raises:
            ConfigurationError: the application is not running.
        """
        if self._database is None:
            raise ConfigurationError(
                "the queues are not open: the application opens them when it starts, with FastAPI(lifespan="
                "queues.lifespan); in a test, enter `with TestClient(app)`"
            )
        return self._database

    def opened(self, declared: DeclaredQueue) -> Queue[Any]:
        """Return a declared queue of the open database."""
        database = self.database
        queue = self._opened.get(declared.name)
        if queue is None:
            queue = self._opened[declared.name] = database.queue(declared.name, **declared.settings)
        return queue

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[Mapping[str, Any]]:
        """Open the database, run the handlers while the application runs, and close everything when it ends.

        Handlers that are still running have the workers' grace period to finish.
        """
        await self._open()
        try:
            self._running = self._workers() if self._works else []
            running = [asyncio.create_task(worker.run(signals=False)) for worker in self._running]
            for task in running:
                task.add_done_callback(_tell)
            try:
                yield {"duerow": self.database}
            finally:
                for worker in self._running:
                    worker.stop()
                await asyncio.gather(*running, return_exceptions=True)  # already logged
                self._running = []
        finally:
            await self._close()

    def lifespan_with(self, inner: Lifespan) -> Lifespan:
        """Return a lifespan that runs the application's own lifespan while the queues are open."""

        @asynccontextmanager
        async def both(app: Any) -> AsyncIterator[Mapping[str, Any]]:
            async with self.lifespan(app) as ours, inner(app) as theirs:
                yield {**(theirs or {}), **ours}

        return both

    async def workers(self) -> list[Worker]:
        """Open the database and return the workers; for `duerow worker MODULE:queues`."""
        await self._open()
        return self._workers()

    @property
    def health(self) -> Health:
        """Whether the workers of this process are alive and ready; for probes."""
        return health_of_all(worker.health for worker in self._running)

    def dashboard(self, **options: Any) -> ASGIApp:
        """Return the dashboard of these queues, to mount: `app.mount("/queues", queues.dashboard(authenticate=who))`.

        Args:
            options: see `duerow.web.application`.
        """
        return _Dashboard(self, options)

    async def _open(self) -> None:
        if self._database is not None:
            raise ConfigurationError("these queues are already open; each application needs its own StarletteQueues")
        self._database = await connect(self._target, **self._options)
        for tasks in self._tasks:
            tasks.use(self._database)

    async def _close(self) -> None:
        database, self._database = self.database, None
        self._opened.clear()
        await database.close()

    def _workers(self) -> list[Worker]:
        handlers = [
            Worker(self.opened(one), _awaited(*one.handled_by), **one.handled_by.options)
            for one in self._declared.values()
            if one.handled_by is not None
        ]
        return handlers + [tasks.worker() for tasks in self._tasks if tasks.definitions]


class _Dashboard:
    """The dashboard of the database that is currently open."""

    def __init__(self, queues: StarletteQueues, options: Mapping[str, Any]) -> None:
        self._queues, self._options = queues, options
        self._shown: Database | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from duerow.web import application  # it comes with an extra

        if self._shown is not self._queues.database:
            self._shown = self._queues.database
            self._application = application(self._shown, **self._options)
        await self._application(scope, receive, send)


def _awaited(handler: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a handler as a coroutine function; a plain one is called in a thread, as FastAPI does.

    Raises:
        ConfigurationError: it is a plain function that would get an async connection, or it cannot be called this way.
    """
    if is_async(handler) or options.get("processes") is not None:
        return handler
    if options.get("transactional"):
        raise ConfigurationError(
            f"with transactional=True a handler gets an AsyncConnection, so it must be a coroutine function: write "
            f"async def {getattr(handler, '__name__', 'handler')}(message, connection)"
        )
    check_handler(handler, *given_to(False, bool(options.get("whole_batch")), False))

    @wraps(handler)
    async def in_thread(given: Any) -> Any:
        outcome = await asyncio.to_thread(handler, given)
        return await outcome if isawaitable(outcome) else outcome

    return in_thread


def _tell(task: "asyncio.Task[None]") -> None:
    """Log why a worker ended on its own; the application continues without it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        LOG.error("a worker of this application ended: %s", error, exc_info=error)
