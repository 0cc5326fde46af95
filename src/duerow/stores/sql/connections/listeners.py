"""Listeners for pushes: PostgreSQL's NOTIFY and SQLite's data version."""

from __future__ import annotations

import asyncio
import os
import selectors
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from duerow.errors import StoreUnavailable
from duerow.stores.silent_listener import AsyncSilentListener
from duerow.stores.sql.connections.fork import GATE, check_not_inherited, prepare_for_forks

LOOK: Final = 0.008
"""Seconds between checks of SQLite's data version, which take a few microseconds each."""


class NotifyListener:
    """Waits for PostgreSQL's NOTIFY on its own connection.

    Args:
        connection: a psycopg connection; put into autocommit mode, because an uncommitted LISTEN receives nothing, and
            closed with the listener.
        channel: the channel of this installation.
        queues: the queues to listen for.
    """

    def __init__(self, connection: Any, channel: str, queues: Sequence[str]) -> None:
        self.connection, self.queues = connection, frozenset(queues)
        self._woken, self._wake = os.pipe()
        self._selector = selectors.DefaultSelector()
        try:
            connection.rollback()  # the engine's owner may run statements on each new connection
            connection.autocommit = True
            connection.add_notify_handler(self._note)
            connection.execute(f'LISTEN "{channel}"')
            self._selector.register(connection.fileno(), selectors.EVENT_READ)
            self._selector.register(self._woken, selectors.EVENT_READ)
        except Exception as error:
            self.close()
            raise StoreUnavailable(f"cannot listen for pushes: {error}") from error

    def _note(self, note: Any) -> None:
        """Hear a notification that came together with the answer to LISTEN."""
        if note.payload in self.queues:
            self.wake()

    def wait(self, timeout: float) -> bool:
        """Wait; see Listener.wait. Raises StoreUnavailable if the connection is broken."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                if key.fd == self._woken:
                    os.read(self._woken, 4096)
                    return True
                if self._heard():
                    return True
        return False

    def _heard(self) -> bool:
        try:
            return _hears(self.connection, self.queues)
        except Exception as error:
            raise StoreUnavailable(f"the connection that listens for pushes broke: {error}") from error

    def wake(self) -> None:
        """End a running wait."""
        os.write(self._wake, b"!")

    def close(self) -> None:
        """Close the connection."""
        self._selector.close()
        self.connection.close()
        for end in (self._woken, self._wake):
            os.close(end)


class DataVersionListener:
    """Polls SQLite's data version, which changes with every commit on another connection.

    Args:
        connect: opens a sqlite3 connection, which is closed with the listener and before a fork. It is called inside
            the gate, when the listener is created.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self._seen: int | None = None
        self._woken = threading.Event()
        self._changed()
        prepare_for_forks(self)

    def wait(self, timeout: float) -> bool:
        """Wait; see Listener.wait."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if self._woken.wait(min(left, LOOK)):
                self._woken.clear()
                return True
            with GATE.inside():
                if self._changed():
                    return True
        return False

    def _changed(self) -> bool:
        """Return whether there may be changes; a new connection starts from a different version number."""
        if self._connection is None:
            self._seen = None
            self._connection = self._connect()
        seen, self._seen = self._seen, _data_version(self._connection)
        return seen != self._seen

    def wake(self) -> None:
        """End a running wait."""
        self._woken.set()

    def close(self) -> None:
        """Close the connection."""
        with GATE.inside():
            self.before_fork()

    def before_fork(self) -> None:
        """See Forkable.before_fork: the next check opens another connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def after_fork(self) -> None:
        """See Forkable.after_fork: the listening thread exists only in the parent."""


class AsyncDataVersionListener(AsyncSilentListener):
    """Like DataVersionListener, awaited; a check only reads shared memory, so it runs on the event loop itself.

    Args:
        path: the path of the file.

    The listener is created inside the gate; its connection is closed before a fork.
    """

    silent = False

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._seen: int | None = None
        self._changed()
        prepare_for_forks(self)

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the twin of Listener.wait
        """Wait; see Listener.wait."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if await super().wait(min(left, LOOK)):
                return True
            if (me := GATE.enter_now()) is None:  # another thread is forking the process
                continue
            try:
                if self._changed():
                    return True
            finally:
                GATE.leave(me)
        return False

    def _changed(self) -> bool:
        """Return whether there may be changes; a new connection starts from a different version number."""
        if self._connection is None:
            self._seen = None
            check_not_inherited(self._path)
            self._connection = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            version = _data_version(self._connection)
        except sqlite3.OperationalError:  # the file is locked at the moment: something is being written
            version = -1
        seen, self._seen = self._seen, version
        return seen != version

    async def close(self) -> None:
        """Close the connection."""
        async with GATE.ainside():
            self.before_fork()

    def before_fork(self) -> None:
        """See Forkable.before_fork: the next check opens another connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def after_fork(self) -> None:
        """See Forkable.after_fork: the listening event loop exists only in the parent."""


def _data_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


class AsyncNotifyListener(AsyncSilentListener):
    """Like NotifyListener, awaited: the event loop reads the notifications.

    Args:
        connection: an async psycopg connection; treated like NotifyListener's.
        channel: the channel of this installation.
        queues: the queues to listen for.
    """

    silent = False

    def __init__(self, connection: Any, channel: str, queues: Sequence[str]) -> None:
        super().__init__()
        self.connection, self.channel, self.queues = connection, channel, frozenset(queues)
        self._socket: int | None = None
        self._broke: Exception | None = None

    async def start(self) -> None:
        """Start listening."""
        try:
            await self.connection.rollback()
            await self.connection.set_autocommit(True)
            self.connection.add_notify_handler(self._note)
            await self.connection.execute(f'LISTEN "{self.channel}"')
            self._socket = self.connection.fileno()
            asyncio.get_running_loop().add_reader(self._socket, self._read)
        except Exception as error:
            await self.connection.close()
            raise StoreUnavailable(f"cannot listen for pushes: {error}") from error

    def _note(self, note: Any) -> None:
        """Hear a notification that came together with the answer to LISTEN."""
        if note.payload in self.queues:
            self.wake()

    def _read(self) -> None:
        try:
            heard = _hears(self.connection, self.queues)
        except Exception as error:  # raised by the next wait
            self._broke, heard = error, True
            self._stop_reading()
        if heard:
            self.wake()

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the twin of Listener.wait
        """Wait; see Listener.wait. Raises StoreUnavailable if the connection is broken."""
        if self._broke is not None:
            raise StoreUnavailable("the connection that listens for pushes broke") from self._broke
        return await super().wait(timeout)

    def _stop_reading(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket = None

    async def close(self) -> None:
        """Close the connection."""
        self._stop_reading()
        await self.connection.close()


def _hears(connection: Any, queues: frozenset[str]) -> bool:
    """Return whether the server has sent a notification for one of the queues; raise if the connection has ended.

    libpq is asked directly: psycopg's `notifies` would first wait for the socket again.
    """
    libpq, named = connection.pgconn, set[str]()
    libpq.consume_input()
    while (note := libpq.notifies()) is not None:
        named.add(note.extra.decode())
    if connection.closed:
        raise StoreUnavailable("the server sent what libpq cannot read")
    return not queues.isdisjoint(named)
