"""How a store's server is reached, blocking and awaited."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from duerow.plan import AsyncExecute, Execute
from duerow.store.reads import Scan

if TYPE_CHECKING:
    from pyarrow import Table


class Listener(Protocol):
    """Hears of pushes, so that a consumer need not poll often; hearing nothing proves nothing."""

    def wait(self, timeout: float) -> bool:
        """Wait at most so many seconds; True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from another thread."""
        ...

    def close(self) -> None:
        """Give back what listening holds."""
        ...


TransactionState = Literal["open", "committed", "rolled back"]


class OwnTransaction(Protocol):
    """A transaction that a handler writes in, and that its worker ends.

    Attributes:
        connection: what the handler is given, and what `join` takes: an SQLAlchemy Connection.
    """

    connection: Any

    def look(self) -> TransactionState:
        """Tell whether the handler has left it open; "committed" also if that cannot be ruled out.

        Raises:
            DuerowError: the connection broke, or the database would not commit this transaction any more.
        """
        ...

    def commit(self) -> None:
        """Make it last, and give the connection back, whatever comes of it."""
        ...

    def roll_back(self) -> None:
        """Undo it and give the connection back; nothing if it has ended."""
        ...


class Connections(Protocol):
    """The blocking way to a store's server.

    Attributes:
        place: names the tables that it leads to; what leads to others has another one.
    """

    @property
    def place(self) -> Hashable:
        """What tells it from the way to other tables."""
        ...

    def open(self) -> AbstractContextManager[Execute]:
        """Lend a connection: its steps are committed at the end, rolled back on an exception.

        Without BEGIN each step is committed by itself where the database has such a mode.

        Raises:
            StoreUnavailable: the server cannot be reached, or broke off (outcome "unknown" if it may have acted).
        """
        ...

    def join(self, within: Any) -> Execute:
        """Use the caller's own open transaction; never begin, commit or roll back.

        Raises:
            ConfigurationError: not a connection of this store's database, or no transaction is open on it.
        """
        ...

    def begin(self) -> OwnTransaction:
        """Begin a transaction for a handler, on a connection of its own.

        Raises:
            NotSupported: the store has no such transactions (`Capabilities.within`).
            StoreUnavailable: no connection can be had.
        """
        ...

    def listen(self, queues: Sequence[str]) -> Listener:
        """Begin to hear of pushes into these queues."""
        ...

    def close(self) -> None:
        """Close all connections that are at rest."""
        ...


class ReadPage(Protocol):
    """Reads a page of a scan as Arrow."""

    def __call__(self, after: tuple[int, int], last: int, limit: int) -> Table:
        """Return what is there behind an id and token, up to an id: at most so many rows, JSON as text."""
        ...


class ArrowScan(Protocol):
    """A scan that is read as Arrow, if need be in another process: it can be pickled, and needs no store there."""

    def reading(self) -> AbstractContextManager[ReadPage | None]:
        """Lend a connection and return what reads pages by it; None if no driver for it is installed here.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        ...


@runtime_checkable
class ArrowConnections(Protocol):
    """What the blocking way to a server can have besides: rows as Arrow, for whoever reads very many."""

    def arrow_scan(self, query: Scan, shown: Sequence[str]) -> ArrowScan | None:
        """Return a scan that gives Arrow; None: this database has no driver for it, or the engine is the user's own.

        Args:
            query: what to read; its place and its limit are said page by page.
            shown: the columns, named as the fields of `Record` or `Past`.
        """
        ...


class AsyncListener(Protocol):
    """As Listener, awaited."""

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the twin of Listener.wait
        """Wait at most so many seconds; True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from the same loop."""
        ...

    async def close(self) -> None:
        """Give back what listening holds."""
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
