"""The two ways to reach a store's server: blocking and async."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from duerow.plan import AsyncExecute, Execute
from duerow.store.reads import Scan

if TYPE_CHECKING:
    from pyarrow import Table


def cancellations(queue: str) -> str:
    """Return the name with which `listen` reports that leased messages of a queue were removed; no queue has it."""
    return f"!{queue}"


class Listener(Protocol):
    """Notices pushes, so that a consumer need not poll often; it may miss some."""

    def wait(self, timeout: float) -> bool:
        """Wait for at most `timeout` seconds; return True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from another thread."""
        ...

    def close(self) -> None:
        """Release the resources used for listening."""
        ...


TransactionState = Literal["open", "committed", "rolled back"]


class OwnTransaction(Protocol):
    """A transaction in which a handler writes and which its worker ends.

    Attributes:
        connection: an SQLAlchemy Connection, which the handler receives and `join` accepts.
    """

    connection: Any

    def look(self) -> TransactionState:
        """Return how the handler left the transaction; "committed" also if a commit cannot be ruled out.

        Raises:
            DuerowError: the connection broke, or the database would no longer commit this transaction.
        """
        ...

    def commit(self) -> None:
        """Commit, and return the connection whatever happens."""
        ...

    def roll_back(self) -> None:
        """Roll back and return the connection; do nothing if the transaction has ended."""
        ...


class Connections(Protocol):
    """The blocking way to a store's server.

    Attributes:
        place: identifies the tables behind the connections; different for connections to other tables.
    """

    @property
    def place(self) -> Hashable:
        """A value that distinguishes these connections from connections to other tables."""
        ...

    def open(self) -> AbstractContextManager[Execute]:
        """Lend a connection: its steps are committed when the block ends, or rolled back on an exception.

        Without BEGIN, each step is committed separately if the database has such a mode.

        Raises:
            StoreUnavailable: the server cannot be reached, or the connection broke (outcome "unknown" if the steps may
                have been carried out).
        """
        ...

    def join(self, within: Any) -> Execute:
        """Use the caller's own open transaction; never begin, commit or roll back one.

        Raises:
            ConfigurationError: not a connection of this store's database, or no transaction is open on it.
        """
        ...

    def begin(self) -> OwnTransaction:
        """Begin a transaction for a handler, on a separate connection.

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
    """Reads a page of a scan as Arrow."""

    def __call__(self, after: tuple[int, int], last: int, limit: int) -> Table:
        """Return up to `limit` rows after an id and token, up to the id `last`; JSON is returned as text."""
        ...


class ArrowScan(Protocol):
    """A scan that is read as Arrow, possibly in another process: it can be pickled and needs no store."""

    def reading(self) -> AbstractContextManager[ReadPage | None]:
        """Lend a connection and return a reader of its pages; None if no driver for it is installed here.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        ...


@runtime_checkable
class ArrowConnections(Protocol):
    """An optional part of blocking connections: reading a large number of rows as Arrow."""

    def arrow_scan(self, query: Scan, shown: Sequence[str]) -> ArrowScan | None:
        """Return a scan that yields Arrow; None if this database has no driver for it or the engine is the user's own.

        Args:
            query: what to read; each page sets its own start and limit.
            shown: the columns, named like the fields of `Record` or `Past`.
        """
        ...


class AsyncListener(Protocol):
    """The async counterpart of Listener."""

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the twin of Listener.wait
        """Wait for at most `timeout` seconds; return True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from the same loop."""
        ...

    async def close(self) -> None:
        """Release the resources used for listening."""
        ...


class AsyncOwnTransaction(Protocol):
    """The async counterpart of OwnTransaction; the connection is an SQLAlchemy AsyncConnection."""

    connection: Any

    async def look(self) -> TransactionState:
        """See OwnTransaction.look."""
        ...

    async def commit(self) -> None:
        """See OwnTransaction.commit."""
        ...

    async def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        ...


class AsyncConnections(Protocol):
    """The async way to a store's server; it never blocks the event loop."""

    @property
    def place(self) -> Hashable:
        """See Connections.place."""
        ...

    def open(self) -> AbstractAsyncContextManager[AsyncExecute]:
        """See Connections.open."""
        ...

    def join(self, within: Any) -> AsyncExecute:
        """See Connections.join."""
        ...

    async def begin(self) -> AsyncOwnTransaction:
        """See Connections.begin."""
        ...

    async def listen(self, queues: Sequence[str]) -> AsyncListener:
        """See Connections.listen."""
        ...

    async def close(self) -> None:
        """See Connections.close."""
        ...
