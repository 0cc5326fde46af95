"""The blocking way to MongoDB: one MongoClient, which has a pool of its own, or the caller's own session."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pymongo
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.errors import PyMongoError

from duerow.errors import ConfigurationError, DuerowError, NotSupported, StoreUnavailable
from duerow.plan import BEGIN, Execute, run
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
from duerow.stores.mongodb.listeners import PollingListener, StreamListener
from duerow.stores.mongodb.steps import INSIDE, Command, Together
from duerow.stores.mongodb.store import MongoStore
from duerow.stores.mongodb.target import GOODBYE, Target


class BlockingMongoConnections:
    """A client of one target: made when it is first used, and anew in a process that was forked; or the user's own."""

    def __init__(self, target: Target, store: MongoStore, read_timeout: timedelta | None = None) -> None:
        self.target, self.store, self.read_timeout = target, store, read_timeout
        self._process, self._making = os.getpid(), threading.Lock()
        self._client: MongoClient[Any] | None = None
        self._inherited: list[MongoClient[Any]] = []
        self._same: weakref.WeakSet[MongoClient[Any]] = weakref.WeakSet()

    @property
    def place(self) -> Hashable:
        """Return what tells these collections from others."""
        return self.target.place(self.store.prefix)

    def client(self) -> MongoClient[Any]:
        """Return the client of this process; of a user's own its driver takes care after a fork."""
        if self.target.client is not None:
            return self.target.client  # type: ignore[no-any-return]
        if self._process != os.getpid():
            self._begin_anew()
        client = self._client
        if client is None:
            with self._making:
                client = self._client = self._client or _client(self.target)
        return client

    def _begin_anew(self) -> None:
        """Leave the client to the process that this one was forked from: its connections are that one's.

        It is kept, so that nothing closes them, and so is no lock, which a thread of that process may have held.
        """
        if self._client is not None:
            self._inherited.append(self._client)
        self._client, self._making, self._process = None, threading.Lock(), os.getpid()

    @contextmanager
    def open(self) -> Iterator[Execute]:
        """Lend a connection; see Connections.open."""
        lent = Connection(self.client(), self.target.database, self.store, limit=self.read_timeout)
        try:
            yield lent.execute
        except BaseException:
            lent.roll_back()
            raise
        lent.commit()

    def join(self, within: Any) -> Execute:
        """Use the caller's session; see Connections.join."""
        if not self.store.capabilities.within:
            raise NotSupported(f"within=: {no_transactions()}")
        if not isinstance(within, ClientSession):
            raise ConfigurationError(f"within={within!r:.80} is no ClientSession; {WANTED_WITHIN}, of this face")
        if within.has_ended or not within.in_transaction:
            raise ConfigurationError(f"no transaction is open in the session given as within=; {WANTED_WITHIN}")
        self._check_cluster(within.client)
        return Connection(within.client, self.target.database, self.store, within).execute

    def _check_cluster(self, theirs: MongoClient[Any]) -> None:
        """Raise ConfigurationError if a client of the caller's leads to other servers; each is asked once."""
        ours = self.client()
        if theirs is ours or theirs == ours or theirs in self._same:  # equal: those that were given the same hosts
            return
        try:
            said = [cluster_of(client.admin.command("hello")) for client in (ours, theirs)]
        except PyMongoError as error:
            raise (explained(error, wrote=False) or error) from error
        if differ(*said):
            raise another_cluster(ours, theirs)
        self._same.add(theirs)

    def begin(self) -> MongoTransaction:
        """Begin a transaction for a handler; see Connections.begin."""
        if not self.store.capabilities.within:
            raise no_handlers_transactions()
        own = Connection(self.client(), self.target.database, self.store)
        own.begin()
        return MongoTransaction(own)

    def listen(self, queues: Sequence[str]) -> StreamListener | PollingListener:
        """Begin to hear of pushes, where the server has change streams."""
        if not self.store.capabilities.wakes_consumers:
            return PollingListener()
        return StreamListener(self.client(), self.target.database, self.store.names.messages, queues)

    def close(self) -> None:
        """Close the client, unless it is the user's; whoever uses it again gets another one."""
        if self._process != os.getpid():
            self._begin_anew()
        client, self._client = self._client, None
        if client is not None:
            with pymongo.timeout(GOODBYE):
                client.close()


class Connection:
    """One lent connection: each command by itself, or in a transaction once BEGIN has been said."""

    def __init__(
        self,
        client: MongoClient[Any],
        database: str,
        store: MongoStore,
        session: ClientSession | None = None,
        limit: timedelta | None = None,
    ) -> None:
        self.client, self.store, self.session = client, store, session
        self._database = client.get_database(database)
        self._name = database
        self._own = session is None
        self._limit = limit

    def execute(self, step: Any) -> Any:
        """Carry a step out."""
        if step is BEGIN:
            return self.begin()
        if step is INSIDE:
            return self.session is not None
        if isinstance(step, Together):
            return self._together(step)
        return self._send(step)

    def begin(self) -> None:
        """Begin a transaction unless one is open."""
        if self.session is not None:
            return
        if not self.store.capabilities.transactions:
            raise no_transactions()
        self.session = self.client.start_session(causal_consistency=False)
        self.session.start_transaction(**TRANSACTION)

    def commit(self) -> None:
        """Make what was written in a transaction last."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        try:
            _commit(session)
        finally:
            _end(session)

    def roll_back(self) -> None:
        """Undo what was written in a transaction."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        _end(session)

    def _together(self, step: Together) -> Any:
        if self.session is not None:
            return run(step.plan(), self.execute)
        inner = Connection(self.client, self._name, self.store, limit=self._limit)
        try:
            inner.begin()
            result = run(step.plan(), inner.execute)
        except BaseException:
            inner.roll_back()
            raise
        inner.commit()
        return result

    def _send(self, step: Command) -> Any:
        session = None if step.outside else self.session
        try:
            document = prepared(step, session is not None, self._limit)
            if step.rows:
                cursor = self._database.cursor_command(document, codec_options=AWARE, session=session)
                return cursor.to_list()
            reply = self._database.command(document, codec_options=AWARE, session=session)
            check_reply(reply, step.taken)
        except Exception as error:
            known = overran(error, self._limit) if step.bounded else None
            known = known or explained(error, step.writes, session is not None)
            if known is None or known is error:
                raise
            raise known from error
        return reply


class MongoTransaction:
    """A transaction that a handler writes in; see OwnTransaction. Its connection is a ClientSession."""

    def __init__(self, lent: Connection) -> None:
        assert lent.session is not None  # noqa: S101 - it has begun
        self._lent, self.connection = lent, lent.session
        self._mark = mark_of(lent.session)

    def look(self) -> TransactionState:
        """Tell whether the handler has left it open."""
        return state_of(self.connection, self._mark)

    def commit(self) -> None:
        """Make it last."""
        self._lent.commit()

    def roll_back(self) -> None:
        """Undo it."""
        self._lent.roll_back()


def _client(target: Target) -> MongoClient[Any]:
    try:
        return MongoClient(target.url, **target.client_options())
    except (PyMongoError, TypeError, ValueError) as error:
        raise ConfigurationError(f"MongoDB's client cannot be made of this URL and these options: {error}") from error


def _commit(session: ClientSession) -> None:
    """Commit; once more if nobody can tell whether it was."""
    try:
        session.commit_transaction()
    except PyMongoError as error:
        if not error.has_error_label(UNKNOWN_COMMIT):
            raise explained(error, wrote=False, inside=True) or error from error
        try:
            session.commit_transaction()
        except PyMongoError as again:
            raise _unknown(again) from again


def _unknown(error: PyMongoError) -> DuerowError:
    return StoreUnavailable(f"the answer to a commit was lost: {error}", "unknown")


def _end(session: ClientSession) -> None:
    """Give a session back, with it what is left of its transaction; what is broken need not end well."""
    with contextlib.suppress(PyMongoError):
        session.end_session()
