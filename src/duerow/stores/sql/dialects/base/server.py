"""Which database a connection leads to, and whether its server and tables can keep duerow's promises."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base.types import Types


class Server(Types):
    """Which database a connection leads to, and whether it can keep duerow's promises; see `connections.identity`.

    By default a connection writes to one database, and any server and any tables are suitable.
    """

    @abstractmethod
    def identity(self, table: Table) -> Executable:
        """Return a query for the identity of a connection's database, and of the table that the name resolves to."""

    def identified(self, rows: Sequence[Sequence[Any]]) -> tuple[Hashable, ...]:
        """Return the identity that the query found, starting with a readable name; several if it is ambiguous.

        A row in which a part is missing, such as the table, identifies nothing.
        """
        return tuple(tuple(row) for row in rows if None not in row)

    def in_first(self, table: Table) -> Executable | None:
        """Return a query that finds rows if the first of several databases has the table; None if there is only one."""
        return None

    def has_rights(self, needed: Sequence[tuple[Table, str]]) -> Executable | None:
        """Return a query whether the user has these rights on these tables; None if the database cannot tell."""
        return None

    def server(self) -> Executable | None:
        """Return the query whose row `check_server` checks; None if any server is suitable."""
        return None

    def check_server(self, row: Sequence[Any]) -> None:
        """Raise ConfigurationError if this server cannot keep duerow's promises."""

    def unfit(self, tables: Sequence[Table], ours: bool) -> Executable | None:
        """Return the query whose rows `check_tables` checks, about existing tables; None if any table is suitable.

        Args:
            tables: the tables to check.
            ours: whether they are duerow's own tables, where rows are looked up by text.
        """
        return None

    def check_tables(self, rows: Sequence[Sequence[Any]]) -> None:
        """Raise ConfigurationError if the tables were altered and can no longer keep duerow's promises."""


def asked(*columns: Any) -> Executable:
    """Return a query for one row of these values, each under a distinct name."""
    return select(*(one.label(f"asked_{number}") for number, one in enumerate(columns)))
