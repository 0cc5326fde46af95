# Generated from ../aio/connection.py by tools/generate_sync.py; edit that file instead.
"""A connection, and the transaction on it."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.synchronous.client_session import ClientSession

from duerow.errors import DuerowError, StoreUnavailable
from duerow.plan import BEGIN, run
from duerow.store import TransactionState
from duerow.stores.mongodb.errors import UNKNOWN_COMMIT, check_reply, explained, overran
from duerow.stores.mongodb.execution import AWARE, TRANSACTION, mark_of, no_transactions, prepared, state_of
from duerow.stores.mongodb.plans.context import MongoContext
from duerow.stores.mongodb.steps import INSIDE, Command, Together
from duerow.stores.shield import finish


class MongoConnection:
    """A connection: runs each command separately, or all commands after BEGIN in one transaction."""

    def __init__(
        self,
        client: MongoClient[Any],
        database: str,
        context: MongoContext,
        session: ClientSession | None = None,
        limit: timedelta | None = None,
    ) -> None:
        self.client, self.context, self.session = client, context, session
        self._database = client.get_database(database)
        self._name = database
        self._own = session is None
        self._limit = limit

    def execute(self, step: Any) -> Any:
        """Run a step."""
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
        if not self.context.capabilities.transactions:
            raise no_transactions()
        self.session = self.client.start_session(causal_consistency=False)
        self.session.start_transaction(**TRANSACTION)

    def commit(self) -> None:
        """Commit the transaction, if there is one."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        try:
            _commit(session)
        finally:
            _end(session)

    def roll_back(self) -> None:
        """Roll back the transaction, if there is one."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        _end(session)

    def _together(self, step: Together) -> Any:
        if self.session is not None:
            return run(step.plan(), self.execute)
        inner = MongoConnection(self.client, self._name, self.context, limit=self._limit)
        try:
            inner.begin()
            result = run(step.plan(), inner.execute)
        except BaseException:
            finish(inner.roll_back)
            raise
        finish(inner.commit)
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
    """A transaction for a handler's own writes; see OwnTransaction. Its connection is the driver's session."""

    def __init__(self, lent: MongoConnection) -> None:
        assert lent.session is not None  # noqa: S101 - it has begun
        self._lent, self.connection = lent, lent.session
        self._mark = mark_of(lent.session)

    def look(self) -> TransactionState:
        """Return whether the handler has left the transaction open."""
        return state_of(self.connection, self._mark)

    def commit(self) -> None:
        """Commit it."""
        self._lent.commit()

    def roll_back(self) -> None:
        """Roll it back."""
        self._lent.roll_back()


def _commit(session: ClientSession) -> None:
    """Commit; try once more if the outcome is unknown."""
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
    """End a session and any transaction still open on it; ignore errors if the session is broken."""
    with contextlib.suppress(PyMongoError):
        session.end_session()
