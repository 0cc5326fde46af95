"""The clients for a site: one for each event loop."""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import Any

import anyio._backends._asyncio  # noqa: F401 - otherwise the first request would import it in the event loop
import httpcore  # noqa: F401 - for the same reason
import httpx

from duerow.stores.http.site import Site


class HttpClients:
    """An httpx.AsyncClient for each event loop."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._clients: weakref.WeakKeyDictionary[Any, tuple[int, httpx.AsyncClient]] = weakref.WeakKeyDictionary()

    def client(self) -> httpx.AsyncClient:
        """Return this process's client for the running loop."""
        loop = asyncio.get_running_loop()
        process, client = self._clients.get(loop, (0, None))
        if client is None or process != os.getpid():
            client = self._site.client(httpx.AsyncClient)
            self._clients[loop] = os.getpid(), client
        return client

    async def close(self) -> None:
        """Close the client for this loop."""
        process, client = self._clients.pop(asyncio.get_running_loop(), (0, None))
        if client is not None and process == os.getpid():
            await client.aclose()
