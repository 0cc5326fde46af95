"""The awaited way to MongoDB: an AsyncMongoClient for each loop, or the caller's own session."""

from __future__ import annotations

import asyncio
import contextlib
import os
import weakref
from collections.abc import AsyncIterator, Coroutine, Hashable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pymongo
from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import PyMongoError

from duerow.errors import ConfigurationError, DuerowError, NotSupported, StoreUnavailable
from duerow.plan import BEGIN, AsyncExecute, arun
from duerow.store import TransactionState
from duerow.stores.mongodb.errors import UNKNOWN_COMMIT, check_reply, explained, overran
from duerow.stores.mongodb.execution import (
    AWARE,
    TRANSACTION,
    WANTED_WITHIN,
    another_cluster,
    cluster_of,
    differ,
    mark_of,
    no_handlers_transactions,
    no_transactions,
    prepared,
    state_of,
)
from duerow.stores.mongodb.listeners import AsyncPollingListener, AsyncStreamListener
from duerow.stores.mongodb.steps import INSIDE, Command, Together
from duerow.stores.mongodb.store import MongoStore
from duerow.stores.mongodb.target import GOODBYE, Target


class AwaitedMongoConnections:
    """Clients of one target; as `blocking.BlockingConnections`."""

    def __init__(self, target: Target, store: MongoStore, read_timeout: timedelta | None = None) -> None:
        self.target, self.store, self.read_timeout = target, store, read_timeout
        self._clients: weakref.WeakKeyDictionary[Any, tuple[int, AsyncMongoClient[Any]]] = weakref.WeakKeyDictionary()
        self._home: weakref.ref[asyncio.AbstractEventLoop] | None = None
        self._same: weakref.WeakSet[AsyncMongoClient[Any]] = weakref.WeakSet()

    @property
    def place(self) -> Hashable:
        """Return what tells these collections from others."""
        return self.target.place(self.store.prefix)

    def client(self) -> AsyncMongoClient[Any]:
        """Return the client of the running loop, in this process.

        A client of the user's own belongs to the first loop that asks; any other, as a worker's, has one made like it.
        """
        loop = asyncio.get_running_loop()
        theirs = self.target.client
        if theirs is not None and self._is_home(loop):
            return theirs  # type: ignore[no-any-return]
        process, client = self._clients.get(loop, (0, None))
        if client is None or process != os.getpid():
            client = _client(self.target) if theirs is None else _like(theirs)
            self._clients[loop] = os.getpid(), client
        return client

    def _is_home(self, loop: asyncio.AbstractEventLoop) -> bool:
        if self._home is None:
            self._home = weakref.ref(loop)
        return self._home() is loop

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncExecute]:
        """Lend a connection; see Connections.open."""
        lent = Connection(self.client(), self.target.database, self.store, limit=self.read_timeout)
        try:
            yield lent.execute
        except BaseException:
            await _to_its_end(lent.roll_back())
            raise
        await _to_its_end(lent.commit())

    def join(self, within: Any) -> AsyncExecute:
        """Use the caller's session; see Connections.join."""
        if not self.store.capabilities.within:
            raise NotSupported(f"within=: {no_transactions()}")
        if not isinstance(within, AsyncClientSession):
            raise ConfigurationError(f"within={within!r:.80} is no AsyncClientSession; {WANTED_WITHIN}, of this face")
        if within.has_ended or not within.in_transaction:
            raise ConfigurationError(f"no transaction is open in the session given as within=; {WANTED_WITHIN}")
        lent = Connection(within.client, self.target.database, self.store, within)

        async def execute(step: Any) -> Any:
            await self._check_cluster(within.client)
            return await lent.execute(step)

        return execute

    async def _check_cluster(self, theirs: AsyncMongoClient[Any]) -> None:
        """Raise ConfigurationError if a client of the caller's leads to other servers; each is asked once."""
        ours = self.client()
        if theirs is ours or theirs == ours or theirs in self._same:  # equal: those that were given the same hosts
            return
        try:
            said = [cluster_of(await client.admin.command("hello")) for client in (ours, theirs)]
        except PyMongoError as error:
            raise (explained(error, wrote=False) or error) from error
        if differ(*said):
            raise another_cluster(ours, theirs)
        self._same.add(theirs)

    async def begin(self) -> MongoTransaction:
        """Begin a transaction for a handler; see Connections.begin."""
        if not self.store.capabilities.within:
            raise no_handlers_transactions()
        own = Connection(self.client(), self.target.database, self.store)
        await own.begin()
        return MongoTransaction(own)

    async def listen(self, queues: Sequence[str]) -> AsyncStreamListener | AsyncPollingListener:
        """Begin to hear of pushes, where the server has change streams."""
        if not self.store.capabilities.wakes_consumers:
            return AsyncPollingListener()
        place = self.target.database, self.store.names.messages
        return await AsyncStreamListener.listen(self.client(), *place, queues)

    async def close(self) -> None:
        """Close the client of this loop, unless it is the one that the user gave."""
        with contextlib.suppress(KeyError):
            process, client = self._clients.pop(asyncio.get_running_loop())
            if process == os.getpid():
                with pymongo.timeout(GOODBYE):
                    await client.close()


class Connection:
    """One lent connection: each command by itself, or in a transaction once BEGIN has been said."""

    def __init__(
        self,
        client: AsyncMongoClient[Any],
        database: str,
        store: MongoStore,
        session: AsyncClientSession | None = None,
        limit: timedelta | None = None,
    ) -> None:
        self.client, self.store, self.session = client, store, session
        self._database = client.get_database(database)
        self._name = database
        self._own = session is None
        self._limit = limit

    async def execute(self, step: Any) -> Any:
        """Carry a step out."""
        if step is BEGIN:
            return await self.begin()
        if step is INSIDE:
            return self.session is not None
        if isinstance(step, Together):
            return await self._together(step)
        return await self._send(step)

    async def begin(self) -> None:
        """Begin a transaction unless one is open."""
        if self.session is not None:
            return
        if not self.store.capabilities.transactions:
            raise no_transactions()
        self.session = self.client.start_session(causal_consistency=False)
        await self.session.start_transaction(**TRANSACTION)

    async def commit(self) -> None:
        """Make what was written in a transaction last."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        try:
            await _commit(session)
        finally:
            await _end(session)

    async def roll_back(self) -> None:
        """Undo what was written in a transaction."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        await _end(session)

    async def _together(self, step: Together) -> Any:
        if self.session is not None:
            return await arun(step.plan(), self.execute)
        inner = Connection(self.client, self._name, self.store, limit=self._limit)
        try:
            await inner.begin()
            result = await arun(step.plan(), inner.execute)
        except BaseException:
            await _to_its_end(inner.roll_back())
            raise
        await _to_its_end(inner.commit())
        return result

    async def _send(self, step: Command) -> Any:
        session = None if step.outside else self.session
        try:
            document = prepared(step, session is not None, self._limit)
            if step.rows:
                cursor = await self._database.cursor_command(document, codec_options=AWARE, session=session)
                return await cursor.to_list()
            reply = await self._database.command(document, codec_options=AWARE, session=session)
            check_reply(reply, step.taken)
        except Exception as error:
            known = overran(error, self._limit) if step.bounded else None
            known = known or explained(error, step.writes, session is not None)
            if known is None or known is error:
                raise
            raise known from error
        return reply


class MongoTransaction:
    """A transaction that a handler writes in; see AsyncOwnTransaction. Its connection is an AsyncClientSession."""

    def __init__(self, lent: Connection) -> None:
        assert lent.session is not None  # noqa: S101 - it has begun
        self._lent, self.connection = lent, lent.session
        self._mark = mark_of(lent.session)

    async def look(self) -> TransactionState:
        """Tell whether the handler has left it open."""
        return state_of(self.connection, self._mark)

    async def commit(self) -> None:
        """Make it last."""
        await self._lent.commit()

    async def roll_back(self) -> None:
        """Undo it."""
        await self._lent.roll_back()


def _client(target: Target) -> AsyncMongoClient[Any]:
    try:
        return AsyncMongoClient(target.url, **target.client_options())
    except (PyMongoError, TypeError, ValueError) as error:
        raise ConfigurationError(f"MongoDB's client cannot be made of this URL and these options: {error}") from error


def _like(client: AsyncMongoClient[Any]) -> AsyncMongoClient[Any]:
    """Return another client of the same servers with the same options, for another loop."""
    made: AsyncMongoClient[Any] = client._duplicate()  # PyMongo shows nobody all that a client was made of
    return made


async def _commit(session: AsyncClientSession) -> None:
    """Commit; once more if nobody can tell whether it was."""
    try:
        await session.commit_transaction()
    except PyMongoError as error:
        if not error.has_error_label(UNKNOWN_COMMIT):
            raise explained(error, wrote=False, inside=True) or error from error
        try:
            await session.commit_transaction()
        except PyMongoError as again:
            raise _unknown(again) from again


def _unknown(error: PyMongoError) -> DuerowError:
    return StoreUnavailable(f"the answer to a commit was lost: {error}", "unknown")


async def _end(session: AsyncClientSession) -> None:
    """Give a session back, with it what is left of its transaction; what is broken need not end well."""
    with contextlib.suppress(PyMongoError):
        await session.end_session()


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await work that may not be left in the middle: who is cancelled meanwhile is told when it is over."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    task.result()
