"""Handlers' transactions, time limits for reads, waking consumers, and driver errors."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import URL, ColumnElement, Connection, Table
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.base import Executable

from duerow.errors import Conflict, DuerowError
from duerow.stores.sql.dialects.base.types import Types


@dataclass(frozen=True)
class ArrowWay:
    """A driver that returns rows as Arrow, through ADBC.

    Attributes:
        driver: the driver's module; its `connect` takes the address.
        address: the database's URL in the driver's form.
        prepare: the first query to execute on each connection.
        written: the SQLAlchemy dialect for its statements.
    """

    driver: str
    address: str = field(repr=False)
    prepare: str
    written: SqlDialect


class Transactions(Types):
    """Handlers' transactions, time limits for reads, waking consumers, and driver errors.

    By default a handler's transaction is marked by a savepoint, reads have no limit, and consumers poll.
    """

    # The transaction of a handler.

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Mark the open transaction, and prepare the connection for a handler's own statements.

        Args:
            connection: the connection that the handler is about to use.
            mark: hexadecimal digits, unique to this transaction.
            own: whether the connection has the settings of duerow's own engine.
        """
        connection.exec_driver_sql(f"SAVEPOINT duerow_{mark}")

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Return whether the mark still exists, which means the transaction is the same; ask only once per mark."""
        try:
            connection.exec_driver_sql(f"RELEASE SAVEPOINT duerow_{mark}")
        except DBAPIError as error:
            if not self.has_no_savepoint(error.orig):
                raise
            return False
        return True

    def has_no_savepoint(self, error: BaseException | None) -> bool:
        """Return whether a driver error's code means that the savepoint does not exist."""
        return False

    def restore(self, connection: Connection, own: bool) -> None:
        """Restore the connection to its state before the mark; its transaction has ended."""

    # Time limits for interactive reads.

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Return a read that the server stops at a time limit, as the statements before it, the read, and those after.

        The statements before and after run in the read's transaction; an empty one is skipped.
        """
        return "", text, ""

    def timed(self, raw: Any, milliseconds: int) -> AbstractContextManager[None]:
        """Make a driver's connection stop reads within the block at a time limit, if the driver can."""
        return nullcontext()

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether a driver error's code means that a read exceeded its time limit."""
        return False

    # Errors.

    @abstractmethod
    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's error, based on its code; None for any other error."""

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return the Conflict for a step that waited too long for its turn to write; None for any other error."""
        return None

    # Waking consumers, and reading as Arrow.

    def wake(
        self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str
    ) -> Executable | None:
        """Return the statement that wakes the sleeping consumers of some queues; None if pushes do not wake any."""
        return None

    def announce(self, channel: str, name: ColumnElement[str]) -> Executable | None:
        """Return the statement that announces a name to all listeners; None if the database does not support it."""
        return None

    def arrow(self, url: URL) -> ArrowWay | None:
        """Return the driver that returns rows of this database as Arrow; None if there is none."""
        return None
