"""A run's own access to its database: its ledger, transactions for `within=`, and what the verdict reads.

The module `sql` is for SQL databases. Every other family has a separate module here, named after the scheme of its
URLs, with a class called `Opened`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

APPLICATION: Final = "duerow-torture"
"""The application name that the connections of a run give the server."""

SIGNS: Final = ("message", "queue", "schema")
"""The suffixes, after the prefix, of the names of duerow's tables."""

PREFIX: Final = "torture_"
"""The prefix of the names of all tables of a run."""


BEGUN: Final = frozenset(("begun", "called", "row begun"))
"""The kinds of lines that record the beginning of a turn: of a message, at a station, or of a row."""


class Undone(Exception):
    """Raised when the application changes its mind, so that its transaction is rolled back."""


class Access(Protocol):
    """A process's access to the database of a run.

    Lines of the ledger are mappings with the fields of `Line` except `seq`, which the database assigns. A line that was
    written after another was committed has the larger number.
    """

    @property
    def is_file(self) -> bool:
        """Whether the database is a file: one transaction writes at a time, and each process uses its own clock."""
        ...

    def check(self) -> None:
        """Raise ConfigurationError if a driver or a feature is missing, StoreUnavailable if the server is down."""
        ...

    def address(self) -> tuple[str, int] | None:
        """Return the host and port of the server; None if there is not exactly one."""
        ...

    def behind(self, port: int) -> str:
        """Return the URL that leads to the server through a proxy on this port of this machine."""
        ...

    def transaction(self) -> AbstractContextManager[Any]:
        """Open the application's own transaction, for `within=`, and commit it at the end of the block."""
        ...

    def write(self, rows: Sequence[Mapping[str, Any]], within: Any = None) -> None:
        """Write lines in a separate transaction, or in the given one."""
        ...

    async def awrite(self, rows: Sequence[Mapping[str, Any]], within: Any) -> None:
        """Write lines in an async transaction."""
        ...

    def ask(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write lines that record whether each message's turn still has this token."""
        ...

    def lines(self) -> list[dict[str, Any]]:
        """Return all lines in order."""
        ...

    def begun(self) -> Mapping[int, int]:
        """Return how many turns each process began, according to its lines."""
        ...

    def made(self) -> list[tuple[int, str]]:
        """Return the number and name of each recorded migration, in order."""
        ...

    def waiting(self, queues: Collection[str]) -> int:
        """Return how many messages of these queues have yet to be handled."""
        ...

    @property
    def writes_wait(self) -> bool:
        """Whether a write waits for a transaction that has changed the same row; otherwise the write is refused."""
        ...

    @property
    def has_items(self) -> bool:
        """Whether queues in the application's own tables are supported; otherwise the next four are not used."""
        ...

    @property
    def engine(self) -> Any:
        """The application's own engine, for such a queue."""
        ...

    def awaited_engine(self) -> Any:
        """Return a new async engine for such a queue."""
        ...

    def waiting_items(self) -> int:
        """Return how many rows of the application's own table have yet to be handled."""
        ...

    def items(self) -> list[Sequence[Any]]:
        """Return record, handled, status, due_at, leased_by, attempts and token of each of these rows."""
        ...

    def messages(self) -> list[Sequence[Any]]:
        """Return id, queue, status, payload, headers, group and leased_by of each message."""
        ...

    def turns(self) -> list[Sequence[Any]]:
        """Return id, token, queue, outcome, attempts, worker and finished_at of each turn in the history."""
        ...

    def create(self) -> None:
        """Create the ledger and the application's own table."""
        ...

    def at_version(self, version: int) -> AbstractContextManager[None]:
        """Take the tables back to their present version at the end of the block, which may migrate them.

        Only families whose tables have had several versions need this.
        """
        ...

    def drop(self) -> None:
        """Drop all tables whose names begin with the prefix."""
        ...

    def prefixes(self) -> Iterator[str]:
        """Yield the prefixes of duerow's tables in this database."""
        ...

    def answers(self) -> bool:
        """Whether the server answers; connections from before a restart are discarded."""
        ...

    @property
    def has_limit(self) -> bool:
        """Whether the server limits its connections, so that a run can use them all up."""
        ...

    def open_connection(self) -> Any:
        """Open another connection, which `close_connection` closes; None if the server refuses it."""
        ...

    def close_connection(self, connection: Any) -> None:
        """Close a connection from `open_connection`, unless the server has done so."""
        ...

    def end_connection(self) -> bool:
        """Have the server end a connection of the run, preferably one in a transaction; return whether it did."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


def is_of_another(prefix: str, names: Collection[str]) -> bool:
    """Whether tables with this prefix are duerow's but do not belong to a run."""
    return not prefix.startswith(PREFIX) and all(prefix + sign in names for sign in SIGNS)
