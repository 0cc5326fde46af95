"""How a run reaches its database beside duerow: its ledger, transactions for `within=`, and what the verdict reads.

Databases that speak SQL are reached by `sql`. Another family has a module of its own here, named after the scheme of
its URLs, with a class called `Opened`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

APPLICATION: Final = "duerow-torture"
"""What servers call the connections of a run."""

SIGNS: Final = ("message", "queue", "schema")
"""What the names of tables end with that are duerow's, behind their prefix."""

PREFIX: Final = "torture_"
"""What the names of all tables of a run begin with."""


BEGUN: Final = frozenset(("begun", "called", "row begun"))
"""What the lines say that a turn began, of a message, of a station and of a row."""


class Undone(Exception):
    """The application changed its mind: its transaction is rolled back."""


class Access(Protocol):
    """One process's access to the database of a run.

    Lines of the ledger are mappings with the fields of `Line`, but `seq`, which the database gives: of two lines, the
    one that was written after the other one was committed has the larger number.
    """

    @property
    def is_file(self) -> bool:
        """Whether each process opens a file: one transaction writes at a time, and each goes by its own clock."""
        ...

    def check(self) -> None:
        """Raise ConfigurationError if a driver or a feature is missing, StoreUnavailable if the server is away."""
        ...

    def address(self) -> tuple[str, int] | None:
        """Return the host and the port of the server; None if there is not exactly one."""
        ...

    def behind(self, port: int) -> str:
        """Return the URL that leads to the server through a proxy on this port of this machine."""
        ...

    def transaction(self) -> AbstractContextManager[Any]:
        """Open a transaction of the application's own, which `within=` takes, and commit it at the end of the block."""
        ...

    def write(self, rows: Sequence[Mapping[str, Any]], within: Any = None) -> None:
        """Write lines in a transaction of their own, or in the given one."""
        ...

    async def awrite(self, rows: Sequence[Mapping[str, Any]], within: Any) -> None:
        """Write lines in an awaited transaction."""
        ...

    def ask(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write lines with whether the turn of the message is still that of the token."""
        ...

    def lines(self) -> list[dict[str, Any]]:
        """Return all lines in their order."""
        ...

    def begun(self) -> Mapping[int, int]:
        """Return how many lines of each process say that a turn was begun."""
        ...

    def made(self) -> list[tuple[int, str]]:
        """Return the number and the name of each migration that was noted, in their order."""
        ...

    def waiting(self, queues: Collection[str]) -> int:
        """Return how many messages of these queues are still to be handled."""
        ...

    @property
    def writes_wait(self) -> bool:
        """Whether a write waits for a transaction that has changed the same row; otherwise it is refused."""
        ...

    @property
    def has_items(self) -> bool:
        """Whether rows of the application's own tables can be a queue; otherwise what follows is not called."""
        ...

    @property
    def engine(self) -> Any:
        """The engine of the application's own, for such a queue."""
        ...

    def awaited_engine(self) -> Any:
        """Return a new engine of the application's own for the awaited face."""
        ...

    def waiting_items(self) -> int:
        """Return how many rows of the application's own table are still to be handled."""
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
        """Make the ledger, and the application's own table."""
        ...

    def drop(self) -> None:
        """Drop all tables whose names begin with the prefix."""
        ...

    def prefixes(self) -> Iterator[str]:
        """Yield the prefixes of duerow's tables in this database."""
        ...

    def answers(self) -> bool:
        """Whether the server answers; connections from before a restart are given up."""
        ...

    @property
    def has_limit(self) -> bool:
        """Whether the server refuses connections that are too many, so that a run can use them all."""
        ...

    def open_connection(self) -> Any:
        """Open one more connection, which `close_connection` closes; None if the server refuses it."""
        ...

    def close_connection(self, connection: Any) -> None:
        """Close a connection from `open_connection`, unless the server has done so."""
        ...

    def end_connection(self) -> bool:
        """Have the server end a connection of the run, one in a transaction if there is one; whether it did."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


def is_of_another(prefix: str, names: Collection[str]) -> bool:
    """Whether tables with this prefix are duerow's, and no run's."""
    return not prefix.startswith(PREFIX) and all(prefix + sign in names for sign in SIGNS)
