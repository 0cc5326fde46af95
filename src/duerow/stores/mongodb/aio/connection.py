"""A connection, and the transaction on it."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import PyMongoError

from duerow.errors import DuerowError, StoreUnavailable
from duerow.plan import BEGIN, arun
from duerow.store import TransactionState
from duerow.stores.mongodb.errors import UNKNOWN_COMMIT, check_reply, explained, overran
from duerow.stores.mongodb.execution import AWARE, TRANSACTION, mark_of, no_transactions, prepared, state_of
from duerow.stores.mongodb.plans.context import MongoContext
from duerow.stores.mongodb.steps import INSIDE, Command, Together
from duerow.stores.shield import afinish


class MongoConnection:
    """A connection: runs each command separately, or all commands after BEGIN in one transaction."""

    def __init__(
        self,
        client: AsyncMongoClient[Any],
        database: str,
        context: MongoContext,
        session: AsyncClientSession | None = None,
        limit: timedelta | None = None,
    ) -> None:
        self.client, self.context, self.session = client, context, session
        self._database = client.get_database(database)
        self._name = database
        self._own = session is None
        self._limit = limit

    async def execute(self, step: Any) -> Any:
        """Run a step."""
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
        if not self.context.capabilities.transactions:
            raise no_transactions()
        self.session = self.client.start_session(causal_consistency=False)
        await self.session.start_transaction(**TRANSACTION)

    async def commit(self) -> None:
        """Commit the transaction, if there is one."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        try:
            await _commit(session)
        finally:
            await _end(session)

    async def roll_back(self) -> None:
        """Roll back the transaction, if there is one."""
        if self.session is None or not self._own:
            return
        session, self.session = self.session, None
        await _end(session)

    async def _together(self, step: Together) -> Any:
        if self.session is not None:
            return await arun(step.plan(), self.execute)
        inner = MongoConnection(self.client, self._name, self.context, limit=self._limit)
        try:
            await inner.begin()
            result = await arun(step.plan(), inner.execute)
        except BaseException:
            await afinish(inner.roll_back)
            raise
        await afinish(inner.commit)
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
    """A transaction for a handler's own writes; see OwnTransaction. Its connection is the driver's session."""

    def __init__(self, lent: MongoConnection) -> None:
        assert lent.session is not None  # noqa: S101 - it has begun
        self._lent, self.connection = lent, lent.session
        self._mark = mark_of(lent.session)

    async def look(self) -> TransactionState:
        """Return whether the handler has left the transaction open."""
        return state_of(self.connection, self._mark)

    async def commit(self) -> None:
        """Commit it."""
        await self._lent.commit()

    async def roll_back(self) -> None:
        """Roll it back."""
        await self._lent.roll_back()


async def _commit(session: AsyncClientSession) -> None:
    """Commit; try once more if the outcome is unknown."""
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
    """End a session and any transaction still open on it; ignore errors if the session is broken."""
    with contextlib.suppress(PyMongoError):
        await session.end_session()
