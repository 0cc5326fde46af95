"""The clients for one target: one for each event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import weakref
from typing import Any

import pymongo
import pymongo.asynchronous.auth
from pymongo import AsyncMongoClient

from duerow.stores.mongodb.target import GOODBYE, Target

# PyMongo imports `auth` only when the first connection logs in, which would block the event loop.


class Clients:
    """An AsyncMongoClient for each event loop, or the user's own."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._clients: weakref.WeakKeyDictionary[Any, tuple[int, AsyncMongoClient[Any]]] = weakref.WeakKeyDictionary()
        self._home: weakref.ref[asyncio.AbstractEventLoop] | None = None

    def client(self) -> AsyncMongoClient[Any]:
        """Return this process's client for the running loop.

        A user's client belongs to the first event loop that asks; another loop, such as a worker's, gets a copy.
        """
        loop = asyncio.get_running_loop()
        theirs = self._target.client
        if theirs is not None and self._is_home(loop):
            return theirs  # type: ignore[no-any-return]
        process, client = self._clients.get(loop, (0, None))
        if client is None or process != os.getpid():
            client = self._target.opened(AsyncMongoClient) if theirs is None else _like(theirs)
            self._clients[loop] = os.getpid(), client
        return client

    def _is_home(self, loop: asyncio.AbstractEventLoop) -> bool:
        if self._home is None:
            self._home = weakref.ref(loop)
        return self._home() is loop

    async def close(self) -> None:
        """Close the client for this loop, unless it is the user's."""
        with contextlib.suppress(KeyError):
            process, client = self._clients.pop(asyncio.get_running_loop())
            if process == os.getpid():
                with pymongo.timeout(GOODBYE):
                    await client.close()


def _like(client: AsyncMongoClient[Any]) -> AsyncMongoClient[Any]:
    """Return another client for the same servers, with the same options, for another loop."""
    made: AsyncMongoClient[Any] = client._duplicate()  # no public API returns all options of a client
    return made
