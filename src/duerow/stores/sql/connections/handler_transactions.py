"""Transactions on an SQLAlchemy connection in which a handler writes, and which its worker ends."""

from __future__ import annotations

import secrets
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

from sqlalchemy import Connection, Engine, RootTransaction, event

from duerow.errors import ConfigurationError
from duerow.store import TransactionState
from duerow.stores.sql.errors import explained, is_lost
from duerow.stores.sql.plans.context import Context

INSIDE: Final[ContextVar[object]] = ContextVar("duerow_transaction", default=None)
"""The transaction of the calling handler, so that waiting for itself raises an error."""


def begin_postgresql(connection: Any) -> str:
    """Return the BEGIN for a PostgreSQL connection in autocommit mode.

    duerow's own sessions are READ COMMITTED by default. Behind a pooler, which keeps no session state, each BEGIN sets
    the level.
    """
    kept = getattr(connection, "prepare_threshold", None) is not None
    return "BEGIN" if kept else "BEGIN ISOLATION LEVEL READ COMMITTED"


def waits_for_itself() -> ConfigurationError:
    """Return the error for a write that would wait for the transaction of its own handler to end."""
    return ConfigurationError(
        "this handler's transaction locks the SQLite file until it ends, so a write outside it would wait forever; "
        "write in it: within=connection"
    )


def engine_for_handlers(engine: Engine) -> Engine:
    """Return a copy of the engine, with the same pool, that records commits: querying each connection is slow."""
    twin = engine.execution_options()
    event.listen(twin, "commit", _note_commit)
    return twin


def _note_commit(connection: Connection) -> None:
    transaction = _OPEN.get(connection)
    if transaction is not None:
        transaction.committed = True


class HandlersTransaction:
    """A transaction on a connection that was just opened; the same for both faces.

    Args:
        connection: an unused connection of `engine_for_handlers`.
        context: the context of the store.
        own: whether the engine is duerow's own.

    Attributes:
        committed: whether the handler committed the transaction.
        ended: whether the transaction has ended in any way.
    """

    def __init__(self, connection: Connection, context: Context, own: bool) -> None:
        self.connection, self.dialect, self._own = connection, context.dialect, own
        self._hold, self._marks = context.hold, context.marks_transactions
        self._mark = secrets.token_hex(8) if self._marks else ""
        self._root: RootTransaction | None = None
        self.committed = self.ended = False

    def begin(self) -> None:
        """Begin, as the only writer if the database allows just one, and set a mark that ends with the transaction."""
        connection = self.connection
        try:
            if not self.dialect.writes_alone and _commits_alone(connection):
                connection.execution_options(isolation_level="READ COMMITTED")
            self._root = connection.begin()
            self._hold_all()
            if self._marks:
                self.dialect.mark(connection, self._mark, self._own)
            _OPEN[connection] = self
        except Exception as error:
            self.roll_back()
            raise (explained(self.dialect, error) or error) from error

    def _hold_all(self) -> None:
        """Become the writer if the database allows only one: after a read, the lock might no longer be granted."""
        connection = self.connection
        if self._hold is None:
            return
        if connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]
            connection.execute(self._hold.statement.element)
        else:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    def look(self) -> TransactionState:
        """See OwnTransaction.look."""
        if self.committed:
            return "committed"
        if self._root is None or not self._root.is_active:
            return "rolled back"
        if not self._marks:
            return "open"
        try:
            marked = self.dialect.marked(self.connection, self._mark, self._own)
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
        return "open" if marked else "committed"

    def commit(self) -> None:
        """See OwnTransaction.commit."""
        assert self._root is not None  # noqa: S101 - it was begun
        try:
            self._root.commit()
        except BaseException as error:
            known = explained(self.dialect, error, unsure=True)
            self._undo(broken=is_lost(known) or not isinstance(error, Exception))
            raise (known or error) from error
        self._close()

    def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        if not self.ended:
            self._undo(broken=False)

    def _undo(self, broken: bool) -> None:
        self.ended = True
        _OPEN.pop(self.connection, None)
        with suppress(Exception):  # the connection is broken: the server rolls back, and the connection is discarded
            if not broken:
                self.connection.rollback()
                self._close()
                return
        with suppress(Exception):
            self.connection.invalidate()
        with suppress(Exception):
            self.connection.close()

    def _close(self) -> None:
        self.ended = True
        _OPEN.pop(self.connection, None)
        self.dialect.restore(self.connection, self._own)
        self.connection.close()


def _commits_alone(connection: Connection) -> bool:
    """Return whether the engine's connections are in autocommit mode."""
    driver: Any = connection.connection.dbapi_connection
    if hasattr(driver, "get_autocommit"):  # some drivers have a method for this
        return bool(driver.get_autocommit())
    return getattr(driver, "autocommit", False) is True


_OPEN: Final[dict[Connection, HandlersTransaction]] = {}
"""The open transactions of handlers, by connection."""
