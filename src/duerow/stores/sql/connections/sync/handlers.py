"""Transactions in which handlers write."""

from __future__ import annotations

import threading
from typing import Any, Protocol

from sqlalchemy import Engine

from duerow.store import TransactionState
from duerow.stores.sql.connections.fork import GATE
from duerow.stores.sql.connections.handler_transactions import INSIDE, HandlersTransaction
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained
from duerow.stores.sql.plans.context import Context


class Lender(Protocol):
    """The part of the connections that a handler's transaction needs; see `BlockingConnections`."""

    dialect: Dialect
    context: Context
    own: bool
    of_handlers: set[Any]
    on_sqlite: bool

    @property
    def writing(self) -> threading.Lock | None:
        """The lock for the thread that writes, if only one transaction can write at a time."""

    @property
    def engine_for_handlers(self) -> Engine:
        """The engine for handlers' transactions."""

    def check_usable(self) -> None:
        """Raise ConfigurationError if the database cannot be used in this process because of how it was forked."""


class BlockingTransaction:
    """A transaction in which a handler writes; see OwnTransaction."""

    def __init__(self, connections: Lender) -> None:
        self._of_handlers = connections.of_handlers
        self._inside = GATE.enter() if connections.on_sqlite else None
        self._writing = connections.writing
        if self._writing is not None:
            self._writing.acquire()
        try:
            connections.check_usable()
            try:
                self.connection = connections.engine_for_handlers.connect()
            except Exception as error:
                raise (explained(connections.dialect, error) or error) from error
            self._transaction = HandlersTransaction(self.connection, connections.context, connections.own)
            self._transaction.begin()
            self._of_handlers.add(self.connection)
        except BaseException:
            self._let_others_write()
            raise
        INSIDE.set(self._writing)

    def look(self) -> TransactionState:
        """See OwnTransaction.look."""
        return self._transaction.look()

    def commit(self) -> None:
        """See OwnTransaction.commit."""
        self._of_handlers.discard(self.connection)
        try:
            self._transaction.commit()
        finally:
            self._let_others_write()

    def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        if not self._transaction.ended:
            self._of_handlers.discard(self.connection)
            try:
                self._transaction.roll_back()
            finally:
                self._let_others_write()

    def _let_others_write(self) -> None:
        INSIDE.set(None)
        if self._writing is not None:
            self._writing.release()
        if self._inside is not None:
            GATE.leave(self._inside)
