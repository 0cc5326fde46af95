"""Connections to the database of a Django project: duerow's own, and Django's within a Django transaction."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from django.db import connections, transaction
from django.db.utils import Error

from duerow.contrib.django.database_urls import scheme_of, url_of, where
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.plan import BEGIN, Execute, run
from duerow.store import Connections, Listener, Settings, TransactionState
from duerow.store.backends import backend_named
from duerow.stores.sql import Family
from duerow.stores.sql.connections.callers import unwrapped
from duerow.stores.sql.connections.engines import own_engine
from duerow.stores.sql.connections.sync.connections import BlockingConnections
from duerow.stores.sql.connections.sync.joined import JoinedExecute
from duerow.stores.sql.connections.sync.raw import Raw
from duerow.stores.sql.errors import explained, unusable
from duerow.stores.sql.plans.store import SqlStore


def family_of(alias: str) -> Family:
    """Return the family of a Django database.

    Raises:
        ConfigurationError: duerow has no store for it, or its driver is not installed.
    """
    family: Any = backend_named(scheme_of(alias))
    return family


def store_of(alias: str, settings: Settings) -> SqlStore:
    """Return the plans for a Django database, without connecting to it."""
    return family_of(alias).unopened(f"{scheme_of(alias)}://", settings)


class DjangoConnections(Connections):
    """The blocking connections of a Django database; see `duerow.store.Connections`.

    Nothing is opened before the first use, so queues may be created when modules are imported. If the database's
    settings change after that, as Django's tests do when they start, connections opened later lead to the new database.

    Args:
        alias: the database.
        store: its plans.
        settings: the settings for opening it.
    """

    def __init__(self, alias: str, store: SqlStore, settings: Settings) -> None:
        self.alias = alias
        self._store, self._settings = store, settings
        self._lock = threading.Lock()
        self._where: tuple[Any, ...] | None = None
        self._opened: BlockingConnections | None = None

    @property
    def own(self) -> BlockingConnections:
        """The connections that duerow itself opens."""
        opened = self._opened
        if opened is not None and self._where == where(self.alias):
            return opened
        with self._lock:
            if self._opened is None or self._where != where(self.alias):
                if self._opened is not None:
                    self._opened.close()
                    self._store.context.floors.begin_anew()  # they were the other database's
                self._where, family = where(self.alias), family_of(self.alias)
                engine = own_engine(url_of(self.alias), self._settings.options, family.driving)
                self._opened = family.blocking(engine, self._store.context, True, self._settings.read_timeout)
            return self._opened

    @property
    def place(self) -> Hashable:
        """See Connections.place."""
        return self.own.place

    def open(self) -> AbstractContextManager[Execute]:
        """See Connections.open."""
        return self.own.open()

    def join(self, within: Any) -> Execute:
        """See Connections.join. Django's connection with this alias leads to the queues; others are checked."""
        if within is not connections[self.alias]:
            return self.own.join(within)
        try:
            return JoinedExecute(self._steps(within), self._store.context)
        except Exception as error:
            raise unusable(self._store.context.dialect, error) from error

    def migrate(self, within: Any) -> list[str]:
        """Create and change the tables in a Django transaction; return the names of the migrations."""
        steps = self._steps(within)
        # SQLite: no lock is needed, and there may be no table yet to lock.
        return run(self._store.schema.migrate(), lambda step: None if step is BEGIN else steps(step))

    def _steps(self, within: Any) -> Raw:
        return self.own.steps_on_callers(unwrapped(within), within)

    def begin(self) -> DjangoTransaction:
        """Begin a Django transaction for a handler; see Connections.begin."""
        return DjangoTransaction(self)

    def listen(self, queues: Sequence[str]) -> Listener:
        """See Connections.listen."""
        return self.own.listen(queues)

    def close(self) -> None:
        """See Connections.close."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    def explained(self, error: BaseException) -> BaseException:
        """Return a Django error as one of duerow's; return any other error unchanged."""
        if not isinstance(error, Error):
            return error
        cause = error.__cause__ or error
        return explained(self._store.context.dialect, cause) or error


class DjangoTransaction:
    """A Django transaction in which a handler writes and which its worker ends; see `duerow.store.OwnTransaction`.

    Attributes:
        connection: Django's connection of this thread, on which `atomic` was entered.
    """

    def __init__(self, lender: DjangoConnections) -> None:
        self._lender = lender
        self.connection = connections[lender.alias]
        self.connection.close_if_unusable_or_obsolete()
        self._atomic = transaction.atomic(using=lender.alias)
        self._open = False
        if self.connection.in_atomic_block:
            raise ConfigurationError("a transactional handler has its own transaction: run it outside of atomic()")
        try:
            self._atomic.__enter__()
            self._open = True
            lender.join(self.connection)(
                BEGIN
            )  # SQLite: a transaction that begins by reading may be unable to write later
        except Exception as error:
            self.roll_back()
            raise (lender.explained(error)) from error

    def look(self) -> TransactionState:
        """See OwnTransaction.look."""
        if not self._open or not self.connection.in_atomic_block or self.connection.needs_rollback:
            return "rolled back"
        if self.connection.connection is None or not self.connection.is_usable():
            raise StoreUnavailable(
                "the handler's transaction can no longer be used: its connection broke, or it ignored an error"
            )
        return "open"

    def commit(self) -> None:
        """See OwnTransaction.commit."""
        self._open = False
        try:
            self._atomic.__exit__(None, None, None)
        except Exception as error:
            raise self._lender.explained(error) from error
        finally:
            self.connection.close_if_unusable_or_obsolete()

    def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        if not self._open:
            return
        self._open = False
        failed = RuntimeError("rolled back")
        self._atomic.__exit__(type(failed), failed, None)
        self.connection.close_if_unusable_or_obsolete()
