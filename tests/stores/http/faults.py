"""A way to the server on which answers are lost, as it happens on networks: after the server did the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Line:
    """What happens to requests on their way; makes clients for `connect(…, client=line.client)`.

    Attributes:
        losing: how many answers to an operation are lost, by the operation's name.
        failing: how many requests never leave, by the operation's name.
        lost: called whenever an answer is lost.
        sent: how many requests of each operation reached the server.
    """

    losing: Counter[str] = field(default_factory=Counter)
    failing: Counter[str] = field(default_factory=Counter)
    lost: Callable[[], None] = lambda: None
    sent: Counter[str] = field(default_factory=Counter)

    def client(self, **settings: Any) -> httpx.Client:
        """Return a client of the blocking face."""
        return httpx.Client(transport=_Blocking(self), **settings)

    def aclient(self, **settings: Any) -> httpx.AsyncClient:
        """Return a client of the awaited face."""
        return httpx.AsyncClient(transport=_Awaited(self), **settings)

    def before(self, request: httpx.Request) -> str:
        """Let a request leave, or not; return its operation."""
        name = request.url.path.rpartition("/")[2]
        if self.failing[name] > 0:
            self.failing[name] -= 1
            raise httpx.ConnectError("nobody there", request=request)
        self.sent[name] += 1
        return name

    def after(self, name: str, request: httpx.Request) -> None:
        """Let an answer through, or not."""
        if self.losing[name] > 0:
            self.losing[name] -= 1
            self.lost()
            raise httpx.ReadError("connection reset by peer", request=request)


class _Blocking(httpx.BaseTransport):
    def __init__(self, line: Line) -> None:
        self._line, self._inner = line, httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        name = self._line.before(request)
        response = self._inner.handle_request(request)
        response.read()
        self._line.after(name, request)
        return response

    def close(self) -> None:
        self._inner.close()


class _Awaited(httpx.AsyncBaseTransport):
    def __init__(self, line: Line) -> None:
        self._line, self._inner = line, httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        name = self._line.before(request)
        response = await self._inner.handle_async_request(request)
        await response.aread()
        self._line.after(name, request)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
