"""How to reach a store's server, blocking and awaited."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from duerow.plan import AsyncExecute, Execute
from duerow.store.reads import Scan

if TYPE_CHECKING:
    from pyarrow import Table


def cancellations(queue: str) -> str:
    """Return the name under which `listen` tells that leased messages of a queue were removed; no queue has it."""
    return f"!{queue}"


class Listener(Protocol):
    """Notices pushes, so that a consumer need not poll often; if it notices none, there may still have been some."""

    def wait(self, timeout: float) -> bool:
        """Wait for at most `timeout` seconds; return True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from another thread."""
        ...

    def close(self) -> None:
        """Release what listening holds."""
        ...


TransactionState = Literal["open", "committed", "rolled back"]


class OwnTransaction(Protocol):
    """A transaction that a handler writes in and its worker ends.

    Attributes:
        connection: the handler receives it, and `join` takes it: an SQLAlchemy Connection.
    """

    connection: Any

    def look(self) -> TransactionState:
        """Return whether the handler has left it open; "committed" also if that cannot be ruled out.

        Raises:
            DuerowError: the connection broke, or the database would no longer commit this transaction.
        """
        ...

    def commit(self) -> None:
        """Commit, and give the connection back whatever happens."""
        ...

    def roll_back(self) -> None:
        """Roll back and give the connection back; does nothing if the transaction has ended."""
        ...


class Connections(Protocol):
    """The blocking way to a store's server.

    Attributes:
        place: identifies the tables that it leads to; different for connections to other tables.
    """

    @property
    def place(self) -> Hashable:
        """What distinguishes it from connections to other tables."""
        ...

    def open(self) -> AbstractContextManager[Execute]:
        """Lend a connection: its steps are committed at the end, or rolled back on an exception.

        Without BEGIN each step is committed by itself, if the database has such a mode.

        Raises:
            StoreUnavailable: the server cannot be reached, or the connection broke (outcome "unknown" if it may have
                acted).
        """
        ...

    def join(self, within: Any) -> Execute:
        """Use the caller's own open transaction; never begin, commit or roll back one.

        Raises:
            ConfigurationError: not a connection of this store's database, or no transaction is open on it.
        """
        ...

    def begin(self) -> OwnTransaction:
        """Begin a transaction for a handler, on a connection of its own.

        Raises:
            NotSupported: the store does not support such transactions (`Capabilities.within`).
            StoreUnavailable: no connection is available.
        """
        ...

    def listen(self, queues: Sequence[str]) -> Listener:
        """Start listening for pushes into these queues, or for their `cancellations`."""
        ...

    def close(self) -> None:
        """Close all idle connections."""
        ...


class ReadPage(Protocol):
    """Reads one page of a scan as Arrow."""

    def __call__(self, after: tuple[int, int], last: int, limit: int) -> Table:
        """Return the rows behind an id and token, up to the id `last`: at most `limit` rows, JSON as text."""
        ...


class ArrowScan(Protocol):
    """A scan that is read as Arrow, possibly in another process: it can be pickled, and needs no store there."""

    def reading(self) -> AbstractContextManager[ReadPage | None]:
        """Lend a connection and return a reader of its pages; None if no driver for it is installed here.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        ...


@runtime_checkable
class ArrowConnections(Protocol):
    """An optional part of blocking connections: rows as Arrow, for reading very many of them."""

    def arrow_scan(self, query: Scan, shown: Sequence[str]) -> ArrowScan | None:
        """Return a scan that gives Arrow; None: this database has no driver for it, or the engine is the user's own.

        Args:
            query: what to read; each page sets its own place and limit.
            shown: the columns, named like the fields of `Record` or `Past`.
        """
        ...


class AsyncListener(Protocol):
    """As Listener, awaited."""

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the twin of Listener.wait
        """Wait for at most `timeout` seconds; return True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from the same loop."""
        ...

    async def close(self) -> None:
        """Release what listening holds."""
        ...


class AsyncOwnTransaction(Protocol):
    """As OwnTransaction, awaited; the connection is an SQLAlchemy AsyncConnection."""

    connection: Any

    async def look(self) -> TransactionState:
        """As OwnTransaction.look."""
        ...

    async def commit(self) -> None:
        """As OwnTransaction.commit."""
        ...

    async def roll_back(self) -> None:
        """As OwnTransaction.roll_back."""
        ...


class AsyncConnections(Protocol):
    """The awaited way to a store's server; never blocks the loop."""

    @property
    def place(self) -> Hashable:
        """As Connections.place."""
        ...

    def open(self) -> AbstractAsyncContextManager[AsyncExecute]:
        """As Connections.open."""
        ...

    def join(self, within: Any) -> AsyncExecute:
        """As Connections.join."""
        ...

    async def begin(self) -> AsyncOwnTransaction:
        """As Connections.begin."""
        ...

    async def listen(self, queues: Sequence[str]) -> AsyncListener:
        """As Connections.listen."""
        ...

    async def close(self) -> None:
        """As Connections.close."""
        ...
