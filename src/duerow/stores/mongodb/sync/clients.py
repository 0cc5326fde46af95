"""The clients for one target: one for each process."""

from __future__ import annotations

import os
import threading
from typing import Any

import pymongo
from pymongo import MongoClient

from duerow.stores.mongodb.target import GOODBYE, Target


class Clients:
    """A MongoClient, created on first use, and again in each forked process; or the user's own client."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._process, self._making = os.getpid(), threading.Lock()
        self._client: MongoClient[Any] | None = None
        self._inherited: list[MongoClient[Any]] = []

    def client(self) -> MongoClient[Any]:
        """Return this process's client; after a fork, the driver takes care of the user's own client."""
        if self._target.client is not None:
            return self._target.client  # type: ignore[no-any-return]
        if self._process != os.getpid():
            self._begin_anew()
        client = self._client
        if client is None:
            with self._making:
                client = self._client = self._client or self._target.opened(MongoClient)
        return client

    def _begin_anew(self) -> None:
        """Stop using the client of the parent process, which still uses its connections.

        Keep a reference to the client, so that nothing closes those connections. Replace the lock, which a thread of
        the parent may have held during the fork.
        """
        if self._client is not None:
            self._inherited.append(self._client)
        self._client, self._making, self._process = None, threading.Lock(), os.getpid()

    def close(self) -> None:
        """Close the client, unless it is the user's; if needed again, a new one is created."""
        if self._process != os.getpid():
            self._begin_anew()
        client, self._client = self._client, None
        if client is not None:
            with pymongo.timeout(GOODBYE):
                client.close()
