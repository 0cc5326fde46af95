"""The client of one target: one for each process."""

from __future__ import annotations

import os
import threading
from typing import Any

import pymongo
from pymongo import MongoClient

from duerow.stores.mongodb.target import GOODBYE, Target


class Clients:
    """One MongoClient, made when it is first used, and anew in a process that was forked; or the user's own."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._process, self._making = os.getpid(), threading.Lock()
        self._client: MongoClient[Any] | None = None
        self._inherited: list[MongoClient[Any]] = []

    def client(self) -> MongoClient[Any]:
        """Return the client of this process; of a user's own its driver takes care after a fork."""
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
        """Leave the client to the process that this one was forked from: its connections are that one's.

        It is kept, so that nothing closes them, and so is no lock, which a thread of that process may have held.
        """
        if self._client is not None:
            self._inherited.append(self._client)
        self._client, self._making, self._process = None, threading.Lock(), os.getpid()

    def close(self) -> None:
        """Close the client, unless it is the user's; whoever uses it again gets another one."""
        if self._process != os.getpid():
            self._begin_anew()
        client, self._client = self._client, None
        if client is not None:
            with pymongo.timeout(GOODBYE):
                client.close()
