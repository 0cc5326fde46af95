"""Listeners for pushes that read a change stream.

Listeners read the stream with their own commands, each of which returns all changes since the previous one. The
driver's cursor would not show what it has buffered.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from pymongo.errors import PyMongoError

from duerow.errors import StoreUnavailable

SLICE: Final = 0.25
"""The seconds that a thread waits for the server at a time: the maximum delay of a wake-up from another thread."""

LONG_SLICE: Final = 1.0
"""The seconds that a task waits for the server at a time; a wake-up interrupts the wait at once."""


CANCELLED_IN: Final = "cancelled_in"
"""A field set on a leased message by the transaction that deletes it; its value is `cancellations(queue)`."""


def opening(messages: str, queues: Sequence[str]) -> dict[str, Any]:
    """Return the command that opens a stream of the messages that enter queues or get a due time without a lease.

    The names may include the `cancellations` of queues.
    """
    names = {"$in": list(queues)}
    fields = "updateDescription.updatedFields"
    told = [
        {"operationType": "insert", "fullDocument.queue": names},
        {"operationType": "update", f"{fields}.queue": names},
        {
            "operationType": "update",
            f"{fields}.due_at": {"$exists": True},
            f"{fields}.leased_until": {"$exists": False},
        },
        {"operationType": "update", f"{fields}.{CANCELLED_IN}": names},
    ]
    stages = [{"$changeStream": {}}, {"$match": {"$or": told}}, {"$project": {"_id": 1}}]
    return {"aggregate": messages, "pipeline": stages, "cursor": {}}


def following(messages: str, cursor: Any, seconds: float) -> dict[str, Any]:
    """Return the command that waits this long for the next changes."""
    return {"getMore": cursor, "collection": messages, "maxTimeMS": max(1, int(seconds * 1_000))}


def broken(error: PyMongoError) -> StoreUnavailable:
    """Return the error for a stream that cannot be read."""
    return StoreUnavailable(f"the change stream that reports pushes broke: {error}")


class StreamListener:
    """A `Listener` that reads a change stream in the waiting thread.

    Args:
        client: the client.
        database: the name of the database.
        messages: the name of the collection.
        queues: the queues to listen to.
    """

    def __init__(self, client: Any, database: str, messages: str, queues: Sequence[str]) -> None:
        self._database, self._messages = client.get_database(database), messages
        self._woken = threading.Event()
        self._session = client.start_session(causal_consistency=False)
        try:
            reply = self._database.command(opening(messages, queues), session=self._session)
        except PyMongoError as error:
            self._end()
            raise broken(error) from error
        self._cursor = reply["cursor"]["id"]

    @classmethod
    def listen(cls, client: Any, database: str, messages: str, queues: Sequence[str]) -> StreamListener:
        """Open a stream."""
        return cls(client, database, messages, queues)

    def wait(self, timeout: float) -> bool:
        """Wait; see Listener.wait. Raises StoreUnavailable when the stream has broken."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if self._woken.is_set():
                self._woken.clear()
                return True
            command = following(self._messages, self._cursor, min(SLICE, left))
            try:
                reply = self._database.command(command, session=self._session)
            except PyMongoError as error:
                raise broken(error) from error
            if reply["cursor"]["nextBatch"]:
                return True
        return False

    def wake(self) -> None:
        """End a running wait from another thread."""
        self._woken.set()

    def close(self) -> None:
        """Close the stream."""
        with suppress(PyMongoError):  # a stream that no longer exists needs no closing
            self._database.command({"killCursors": self._messages, "cursors": [self._cursor]}, session=self._session)
        self._end()

    def _end(self) -> None:
        with suppress(PyMongoError):
            self._session.end_session()


class AsyncStreamListener:
    """An `AsyncListener` that reads a change stream in the waiting task. Create it with `listen`."""

    def __init__(self, database: Any, messages: str, session: Any, cursor: Any) -> None:
        self._database, self._messages, self._session, self._cursor = database, messages, session, cursor
        self._woken = asyncio.Event()
        self._reading: asyncio.Future[Any] | None = None

    @classmethod
    async def listen(cls, client: Any, database: str, messages: str, queues: Sequence[str]) -> AsyncStreamListener:
        """Open a stream; the arguments are those of StreamListener."""
        opened, session = client.get_database(database), client.start_session(causal_consistency=False)
        try:
            reply = await opened.command(opening(messages, queues), session=session)
        except PyMongoError as error:
            await session.end_session()
            raise broken(error) from error
        return cls(opened, messages, session, reply["cursor"]["id"])

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the contract's name and meaning
        """Wait; see Listener.wait. Raises StoreUnavailable when the stream has broken.

        A read that is still running when the timeout expires continues in the next wait, because cancelling it would
        close the connection.
        """
        deadline = time.monotonic() + timeout
        waking = asyncio.ensure_future(self._woken.wait())
        try:
            while (left := deadline - time.monotonic()) > 0:
                if self._reading is None:
                    self._reading = asyncio.ensure_future(self._read())
                await asyncio.wait({waking, self._reading}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if waking.done():
                    self._woken.clear()
                    return True
                if self._reading.done():
                    reading, self._reading = self._reading, None
                    if reading.result():
                        return True
            return False
        finally:
            waking.cancel()

    def wake(self) -> None:
        """End a running wait from the same loop."""
        self._woken.set()

    async def close(self) -> None:
        """Close the stream."""
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, StoreUnavailable):
                await self._reading
        with suppress(PyMongoError):  # a stream that no longer exists needs no closing
            await self._database.command(
                {"killCursors": self._messages, "cursors": [self._cursor]}, session=self._session
            )
        with suppress(PyMongoError):
            await self._session.end_session()

    async def _read(self) -> bool:
        try:
            reply = await self._database.command(
                following(self._messages, self._cursor, LONG_SLICE), session=self._session
            )
        except PyMongoError as error:
            raise broken(error) from error
        return bool(reply["cursor"]["nextBatch"])
