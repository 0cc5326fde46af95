"""Lets a framework that calls functions in threads serve an ASGI application, such as the dashboard."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class BridgedResponse(NamedTuple):
    """The response of an ASGI application.

    Attributes:
        status: the status.
        headers: names and values.
        chunks: the content, as it arrives; closing this iterator calls `leave`.
        leave: tells the application that the client has gone; any thread may call it, even while a chunk is awaited.
    """

    status: int
    headers: Sequence[tuple[str, str]]
    chunks: Iterator[bytes]
    leave: Callable[[], None]

    @property
    def streams(self) -> bool:
        """Whether the content continues for as long as the client listens."""
        return any(name == "content-type" and value.startswith("text/event-stream") for name, value in self.headers)


def scope_of(environ: Mapping[str, Any], root: str, path: str) -> dict[str, Any]:
    """Return the ASGI scope of a request.

    Args:
        environ: the WSGI environment of the request.
        root: the path under which the application is mounted, without a slash at the end.
        path: the whole path of the request, including the root.
    """
    headers = {name[5:]: value for name, value in environ.items() if name.startswith("HTTP_")}
    headers |= {name: environ[name] for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(name)}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": environ["REQUEST_METHOD"],
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "path": path,
        "raw_path": path.encode(),
        "root_path": root,
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"),
        "headers": [(_header(name), str(value).encode("latin-1")) for name, value in headers.items()],
        "client": (environ.get("REMOTE_ADDR") or "127.0.0.1", 0),
        "server": (environ.get("SERVER_NAME", ""), int(environ.get("SERVER_PORT") or 0)),
        "state": {},
    }


def _header(name: str) -> bytes:
    return name.replace("_", "-").lower().encode("latin-1")


class Bridge:
    """An ASGI application on its own event loop, in its own thread; a fork gets new ones.

    Args:
        application: the application.
    """

    def __init__(self, application: Asgi) -> None:
        self._application = application
        self._lock = threading.Lock()
        self._process = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def respond(self, scope: Mapping[str, Any], body: bytes) -> BridgedResponse:
        """Return the response of the application to a request.

        Args:
            scope: the ASGI scope of the request.
            body: its content.
        """
        exchange = _Exchange(self._running(), body)
        asyncio.run_coroutine_threadsafe(exchange.run(self._application, scope), exchange.loop)
        start = exchange.next()
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in start["headers"]]
        return BridgedResponse(start["status"], headers, exchange.chunks(), exchange.leave)

    def close(self, *closing: Coroutine[Any, Any, None]) -> None:
        """End the loop, after awaiting these coroutines on it."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None or self._process != os.getpid():
            for one in closing:
                one.close()  # otherwise Python warns that it was never awaited
            return
        asyncio.run_coroutine_threadsafe(_ended(closing), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="duerow-bridge", daemon=True)
                self._thread.start()
            return self._loop


class BridgedDashboard(Bridge):
    """The dashboard of a database that it opens itself, at the first request.

    Args:
        target: what `duerow.aio.connect` takes.
        settings: further options of `duerow.aio.connect`.
        options: options of `duerow.web.application`; the viewer is `duerow.viewer` in the scope of the request.
    """

    def __init__(self, target: Any, settings: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        from duerow.aio.database import Database, connect
        from duerow.web import application  # it comes with an extra

        opened: list[Database] = []

        async def open_() -> Database:
            opened.append(await connect(target, **settings))
            return opened[-1]

        super().__init__(application(open_, authenticate=lambda request: request.scope["duerow.viewer"], **options))
        self._databases = opened

    def close(self, *closing: Coroutine[Any, Any, None]) -> None:
        """Close its connections too; it cannot be used afterward."""
        super().close(*closing, *(database.close() for database in self._databases))


class _Exchange:
    """One request and its answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, body: bytes) -> None:
        self.loop, self._body = loop, body
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._gone = asyncio.Event()
        self._asked = False

    async def run(self, application: Asgi, scope: Mapping[str, Any]) -> None:
        try:
            await application(dict(scope), self._receive, self._send)
        except BaseException as error:  # raised again where the answer is awaited
            self._answers.put(error)
        else:
            self._answers.put(None)

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self._answers.put(message)

    def next(self) -> Any:
        """Return the next message of the application; None: there are no more."""
        answer = self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def chunks(self) -> Iterator[bytes]:
        try:
            while (message := self.next()) is not None:
                if message.get("body"):
                    yield message["body"]
                if not message.get("more_body", False):
                    return
        finally:
            self.leave()

    def leave(self) -> None:
        with suppress(RuntimeError):  # the loop is closed, so nothing is listening
            self.loop.call_soon_threadsafe(self._gone.set)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _ended(closing: Sequence[Coroutine[Any, Any, None]]) -> None:
    """End the tasks that an application has left running, then await these coroutines."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for one in closing:
        await one
